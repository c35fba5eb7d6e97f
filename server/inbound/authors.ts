import { dkimVerify } from 'mailauth'

/** Whom the fields `From` name, as mailauth reads them. */
export interface Authors {
  headerFrom: string[]
  fromFields: number
}

/** A line that begins no field and continues none: programs differ in what they make of it. */
const irregular = /^(?![!-9;-~]+:)|\r\n(?![!-9;-~]+:|[ \t]|\r\n$|$)/
const fromField = /(?:^|\r\n)(from:[^\r\n]*(?:\r\n[ \t][^\r\n]*)*)/gi

/** Nobody writes as so many. mailauth took a second for a field that fills a head. */
const maxAuthorLetters = 32 * 1024

/** Whether telling the authors would take as long as nobody should wait: a field without an end, or a large head in which all may be one. */
export function hasEndlessAuthors(head: Buffer): boolean {
  if (head.length <= maxAuthorLetters) return false
  const text = head.toString('latin1')
  return irregular.test(text) || /\r(?!\n)/.test(text) || [...text.matchAll(fromField)].some(([field]) => field.length > maxAuthorLetters)
}

const maxKept = 1_000
const maxKeptLetters = 500

/**
 * mailauth reads a head letter by letter, and all of it, to tell who wrote the mail. Of a head that can be read in one way only it gets
 * the fields that count; and what it made of them depends on nothing else, so that it is kept for the next mail of the same people.
 */
export function createAuthorReader(): (head: Buffer) => Promise<Authors> {
  const known = new Map<string, Authors>()
  return async (head) => {
    const text = head.toString('latin1')
    const fields = irregular.test(text) ? text : [...text.matchAll(fromField)].map(([, field]) => `${field}\r\n`).join('')
    const before = known.get(fields)
    if (before) return before
    const { headerFrom, fromFields } = await dkimVerify(Buffer.from(`${fields}\r\n`, 'latin1'))
    const authors = { headerFrom: [headerFrom ?? []].flat(), fromFields: fromFields ?? 0 }
    if (fields.length <= maxKeptLetters) {
      if (known.size >= maxKept) known.clear()
      known.set(fields, authors)
    }
    return authors
  }
}

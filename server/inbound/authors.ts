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

/**
 * mailauth looks from each line end for the last of them: 30,000 in a row took it a second. What came over SMTP has no empty line in its head, but
 * not all that is judged needs to have come so.
 */
const endlessGap = /[\r\n]{100}/

/**
 * Whether mailauth would take as long as nobody should wait: for line ends without an end, for a field that names authors without one, or for a
 * large head in which all may be such a field.
 */
export function isEndless(head: Buffer): boolean {
  const text = head.toString('latin1')
  if (endlessGap.test(text)) return true
  if (text.length <= maxAuthorLetters) return false
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

import type { Candidate } from './candidates.ts'
import { fold, plainText } from './fold.ts'
import { type HtmlText, type Mark, readHtml, type WrittenLink } from './html-document.ts'

/**
 * One reading of a mail, by its plain text or its HTML, or a subject. A class: a getter in an object's literal makes a shape of its own for
 * each mail, and V8 keeps those, and the text, until the whole heap is marked.
 */
export class Document {
  readonly text: string
  readonly marks: Mark[]
  readonly links: WrittenLink[]
  /** Found later, by those who need the rest first. */
  candidates: Candidate[] = []
  #folded: string | null = null

  constructor({ text, marks, links }: HtmlText) {
    this.text = text
    this.marks = marks
    this.links = links
  }

  /** The same length as the text, for looking up words; made when somebody does, because most mail has nothing to look up. */
  get folded(): string {
    this.#folded ??= fold(this.text)
    return this.#folded
  }
}

/** `[!-~]` without quotes and angle brackets: addresses of the web are ASCII, and the letters after one may be Japanese. */
const webAddress = /(?:https?:\/\/|www\.)[!#-;=?-~]{1,8000}/gi
const mailAddress = /[\w.+-]{1,64}@[\w.-]{1,255}/g
const closers = new Set([...".,;:!?)]}'*_>"])

export function documentOfText(text: string): Document {
  const plain = plainText(text)
  const mayLink = mayHaveLinks(plain)
  return documentOf({ text: plain, marks: [], links: mayLink ? writtenLinks(plain) : [] }, mayLink)
}

export function documentOfHtml(html: string): Document {
  const read = readHtml(html)
  return documentOf(read, mayHaveLinks(read.text))
}

/** Digits in addresses are no codes: addresses are blanked, letter by letter. */
function documentOf({ text, marks, links }: HtmlText, mayLink: boolean): Document {
  const blank = (address: string) => '~'.repeat(address.length)
  const withoutWeb = mayLink ? text.replace(webAddress, blank) : text
  return new Document({ text: withoutWeb.includes('@') ? withoutWeb.replace(mailAddress, blank) : withoutWeb, marks, links })
}

/** Quicker to say than to look for addresses letter by letter. */
const mayHaveLinks = (text: string): boolean => text.includes('://') || /www\./i.test(text)

function writtenLinks(text: string): WrittenLink[] {
  return [...text.matchAll(webAddress)].slice(0, 200).map((match) => {
    let length = match[0].length
    while (length > 0 && closers.has(match[0].charAt(length - 1))) length--
    return { url: match[0].slice(0, length), start: match.index, end: match.index + length }
  })
}

/** 2 for large type, 1 for bold, 0 for the rest. */
export const levelAt = (marks: Mark[], at: number): number => {
  let low = 0
  let high = marks.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const mark = marks[middle] as Mark
    if (at < mark.start) high = middle - 1
    else if (at >= mark.end) low = middle + 1
    else return mark.level
  }
  return 0
}

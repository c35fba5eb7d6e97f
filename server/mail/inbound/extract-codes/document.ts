import { fold, plainText } from './fold.ts'
import { type HtmlText, type Mark, readHtml, type WrittenLink } from './html-document.ts'

/** One reading of a mail, by its plain text or its HTML, or a subject. */
export interface Document {
  text: string
  /** The same length as the text, for looking up words; made when somebody does, because most mail has nothing to look up. */
  readonly folded: string
  marks: Mark[]
  links: WrittenLink[]
}

/** `[!-~]` without quotes and angle brackets: addresses of the web are ASCII, and the letters after one may be Japanese. */
const webAddress = /(?:https?:\/\/|www\.)[!#-;=?-~]{1,8000}/gi
const mailAddress = /[\w.+-]{1,64}@[\w.-]{1,255}/g
const closers = new Set([...".,;:!?)]}'*_>"])

export function documentOfText(text: string): Document {
  const plain = plainText(text)
  return documentOf({ text: plain, marks: [], links: [] }, writtenLinks(plain))
}

export const documentOfHtml = (html: string): Document => {
  const read = readHtml(html)
  return documentOf(read, read.links)
}

/** Digits in addresses are no codes: addresses are blanked, letter by letter. */
function documentOf({ text, marks }: HtmlText, links: WrittenLink[]): Document {
  const blank = (address: string) => '~'.repeat(address.length)
  const withoutWeb = mayHaveLinks(text) ? text.replace(webAddress, blank) : text
  const blanked = withoutWeb.includes('@') ? withoutWeb.replace(mailAddress, blank) : withoutWeb
  let folded: string | null = null
  return {
    text: blanked,
    marks,
    links,
    get folded() {
      folded ??= fold(blanked)
      return folded
    },
  }
}

/** Quicker to say than to look for addresses letter by letter. */
const mayHaveLinks = (text: string): boolean => text.includes('://') || text.toLowerCase().includes('www.')

function writtenLinks(text: string): WrittenLink[] {
  if (!mayHaveLinks(text)) return []
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

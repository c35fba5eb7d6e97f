/** Mail with a code is short. What comes later than this in a long one is not read. */
export const maxLetters = 60_000

/**
 * Text as the rules read it: full-width letters and digits become plain ones, letters that nobody sees go, all dashes and apostrophes
 * are one. Whitespace is left as it is.
 */
export function plainLetters(text: string): string {
  if (isAscii(text)) return text
  return (
    text
      .normalize('NFC')
      // Full-width digits and letters, half-width katakana, and the fancy alphabets of mathematics. Full-width marks stay: "，" divides no number.
      .replace(/[\uff0d\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uff9f]+|[\u{1d400}-\u{1d7ff}]+/gu, (letters) =>
        letters.normalize('NFKC'),
      )
      .replace(invisible, '')
      .replace(/[\u2010-\u2015\u2212]/g, '-')
      .replace(/[\u2018\u2019\u02bc]/g, "'")
      .replace(/\u0130/g, 'I')
  )
}

const invisible = /\u034f|[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]/g

/** What counts the octets does so many at a time, where a pattern would look at each letter. */
const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length

/** Plain letters, with single spaces and at most one empty line. */
export function plainText(text: string): string {
  const start = text.slice(0, maxLetters)
  if (isAscii(start)) return untidy.test(start) ? tidied(start) : start
  return tidied(plainLetters(start).slice(0, maxLetters))
}

/** In ASCII there is nothing else to tidy. To look for these is ten times as quick as to write most mail anew. */
const untidy = /[\r\t\v\f]| [ \n]|\n(?: |\n\n)/

const tidied = (plain: string): string =>
  plain
    .replace(/\r\n?|[\u2028\u2029\v\f]/g, '\n')
    // A single space and a bare line end are what they become: the thousands of them are passed over.
    .replace(/[^\S\n]{2,}|[^\S\n ]/g, ' ')
    .replace(/ \n ?|\n /g, '\n')
    .replace(/\n{3,}/g, '\n\n')

const bases = new Map<string, string>()

/**
 * For looking up words: small letters without accents, a space for each dash and line end. Every letter keeps its place, so that what
 * is found here can be read there.
 */
export function fold(plain: string): string {
  const lower = plain.toLowerCase()
  return (isAscii(lower) ? lower : lower.replace(/[\u00c0-\u024f]/g, baseLetter)).replace(/[-\n]/g, ' ')
}

function baseLetter(letter: string): string {
  let base = bases.get(letter)
  if (base === undefined) {
    base = letter.normalize('NFD').charAt(0)
    bases.set(letter, base)
  }
  return base
}

/** A letter or digit of an alphabet that puts spaces between words. */
export const isWordLetter = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 0xc0 && code <= 0x24f)

export const isDigit = (code: number): boolean => code >= 48 && code <= 57

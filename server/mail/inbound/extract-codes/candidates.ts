import { type Document, levelAt } from './document.ts'
import { isDigit, isWordLetter } from './fold.ts'
import { isUnitAt } from './vocabulary/index.ts'

/** Something that has the form of a code. */
export interface Candidate {
  /** As one would paste it: without spaces, dashes as in the mail. */
  value: string
  start: number
  end: number
  shape: 'digits' | 'mixed' | 'letters'
  /** It is all that stands on its line. */
  isAlone: boolean
  /** How large its type is: `levelAt`. */
  level: number
  /** 2025, 20250131: a code only where one is named right before it. */
  isLikeDate: boolean
  /** INV-48213, sd7f2k: it has the form of many other things as well. */
  isDoubtful: boolean
}

interface Token {
  text: string
  start: number
  end: number
}

const minLength = 4
const maxLength = 10
const maxCandidates = 300
const dash = 0x2d

/** All of them, from left to right. */
export function findCandidates(document: Document): Candidate[] {
  const tokens = tokensIn(document.text)
  const candidates: Candidate[] = []
  for (let index = 0; index < tokens.length && candidates.length < maxCandidates; ) {
    const { group, length } = groupAt(document.text, tokens, index)
    index += length
    const start = group[0]?.start ?? 0
    const end = group.at(-1)?.end ?? 0
    const candidate = group.length === 0 ? null : candidateOf(document, group)
    if (candidate && !isPartOfMore(document, start, end)) candidates.push(candidate)
  }
  return candidates
}

/** What is left of a word from its first digit on, or from a capital that no small letter follows. */
const restOfToken = /[\dA-Z](?:(?![a-z])|(?<=\d))[\dA-Za-z]*/g

/**
 * Words with a digit in them, and words in capitals. Most mail has few of either: a pattern passes over the rest without a call for each letter,
 * which took 55 of 95 µs for 10 kB.
 */
function tokensIn(text: string): Token[] {
  const tokens: Token[] = []
  restOfToken.lastIndex = 0
  while (restOfToken.test(text)) {
    const end = restOfToken.lastIndex
    if (isTooLong(text, end)) continue
    let start = end - 1
    while (isPlainLetter(text.charCodeAt(start - 1))) start--
    const word = text.slice(start, end)
    if (!/[a-z]/.test(word) || /\d/.test(word)) tokens.push({ text: word, start, end })
  }
  return tokens
}

/**
 * For a code, and for any part of one. What ends in a digit may be all digits, and is kept as what stands beside others: "1234 12345678901 5678" has no code. So is what
 * goes on behind a dash; before a dash nothing is a code that such a word follows (`isPartOfMore`).
 */
function isTooLong(text: string, end: number): boolean {
  if (isDigit(text.charCodeAt(end - 1)) || text.charCodeAt(end) === dash) return false
  for (let at = end - 1; at >= end - 1 - maxLength; at--) if (!isPlainLetter(text.charCodeAt(at))) return false
  return true
}

const isPlainLetter = (code: number): boolean => code < 0x80 && isWordLetter(code)

/**
 * The tokens that belong together from here on, and how many to step over. An empty group is something that is no code, such as a
 * telephone number.
 */
function groupAt(text: string, tokens: Token[], index: number): { group: Token[]; length: number } {
  if (text.charCodeAt((tokens[index] as Token).end) === dash) {
    const dashed = runAt(text, tokens, index, (between) => between === '-')
    if (dashed.length > 1) return { group: isDashedCode(dashed) ? dashed : [], length: dashed.length }
  }
  const first = tokens[index] as Token
  if (first.text.length > maxLength && !isDigits(first.text)) return { group: [], length: 1 }
  if (first.text.length === 1) {
    const singles = runAt(text, tokens, index, (between, next) => next.text.length === 1 && /^(?: |\n|\n\n)$/.test(between))
    const isSpelled = singles.length >= minLength && singles.length <= 8 && singles.every(({ text }) => /^[A-Z\d]$/.test(text))
    return { group: isSpelled ? singles : [], length: singles.length }
  }
  if (!isDigits(first.text)) return spacedCode(text, tokens, index) ?? { group: [first], length: 1 }
  const digits = runAt(text, tokens, index, (between, next) => between === ' ' && isDigits(next.text))
  if (digits.length === 1) return spacedCode(text, tokens, index) ?? { group: digits, length: 1 }
  if (areEqual(digits) && digits.length <= 4 && sizeOf(digits) <= maxLength && first.text.length <= 5)
    return { group: digits, length: digits.length }
  // "+44 20 7946 0958" is nothing; "482913 10 minutes" is a code and the rest.
  return digits.length > 2 ? { group: [], length: digits.length } : { group: [first], length: 1 }
}

/** "K7P Q2M": only where it has the line for itself, because words in capitals stand beside each other as well. */
function spacedCode(text: string, tokens: Token[], index: number): { group: Token[]; length: number } | null {
  const [first, second] = [tokens[index] as Token, tokens[index + 1]]
  if (!second || second.start - first.end !== 1 || text.charAt(first.end) !== ' ' || first.text.length !== second.text.length) return null
  const joined = first.text + second.text
  const isCode = /^[A-Z\d]{6,8}$/.test(joined) && /\d/.test(joined) && isAlone(text, first.start, second.end)
  return isCode ? { group: [first, second], length: 2 } : null
}

function runAt(text: string, tokens: Token[], index: number, goesOn: (between: string, next: Token) => boolean): Token[] {
  const run = [tokens[index] as Token]
  for (let next = tokens[index + 1]; next; next = tokens[index + run.length]) {
    const last = run.at(-1) as Token
    if (next.start - last.end > 2 || !goesOn(text.slice(last.end, next.start), next)) break
    run.push(next)
  }
  return run
}

/** 123-456, 4-8-2-9, G-123456, WDJB-MJHT, 7KQ-X4M; not 12-05-24, 2024-01-15, opt-in or 555-0142. */
function isDashedCode(run: Token[]): boolean {
  const joined = run.map(({ text }) => text).join('')
  if (joined.length < minLength || joined.length > maxLength || run.length > 8) return false
  if (run.every(({ text }) => text.length === 1)) return /^[A-Z\d]+$/.test(joined)
  if (run.length > 3) return false
  if (isDigits(joined)) return areEqual(run) && (run[0] as Token).text.length > 2
  if (!/^[A-Z\d]+$/.test(joined)) return false
  const [first, second] = run as [Token, Token]
  return areEqual(run) || (run.length === 2 && /^[A-Z]{1,3}$/.test(first.text) && isDigits(second.text) && second.text.length >= 4)
}

function candidateOf(document: Document, group: Token[]): Candidate | null {
  const { text, marks } = document
  const [start, end] = [(group[0] as Token).start, (group.at(-1) as Token).end]
  const joined = group.map((token) => token.text).join('')
  if (joined.length < minLength || joined.length > maxLength) return null
  const shape = isDigits(joined) ? 'digits' : /\d/.test(joined) ? 'mixed' : 'letters'
  if (shape === 'letters' && !/^[A-Z]+$/.test(joined)) return null
  const written = text.slice(start, end)
  const isSpelled = group.length > 3 || group.every((token) => token.text.length === 1)
  const alone = isAlone(text, start, end)
  return {
    value: isSpelled ? joined : written.replace(/\s/g, ''),
    start,
    end,
    shape,
    isAlone: alone,
    level: levelAt(marks, start),
    isLikeDate: group.length === 1 && isLikeDate(joined),
    isDoubtful:
      shape === 'mixed' &&
      (/^[A-Z]{2,}-\d+$/.test(written) || /^\d+[a-z]+$|^[A-Z]?[a-z]+\d+$|^v\d/.test(joined) || (joined.length < 5 && !alone)),
  }
}

/** Letters on either side that make it a price, a time, a version, a colour, a part of a word or of something masked. */
function isPartOfMore({ text, folded }: Document, start: number, end: number): boolean {
  const before = text.charAt(start - 1)
  const after = text.charAt(end)
  if (/[#$€£¥₹₩@/\\_=&+〒№%^|©~]/.test(before) || /[$€£¥₹%@/\\_=&°^~]/.test(after)) return true
  if (/[.,:'-]/.test(before) && isWordLetter(text.charCodeAt(start - 2))) return before !== ':' || isDigit(text.charCodeAt(start - 2))
  if (/[.,:'-]/.test(after) && isDigit(text.charCodeAt(end + 1))) return true
  if (after === '-' && isWordLetter(text.charCodeAt(end + 1))) return true
  if (isWordLetter(text.charCodeAt(start - 1)) || isWordLetter(text.charCodeAt(end))) return true
  if (/[$€£¥₹©+]/.test(text.charAt(start - 2)) && before === ' ') return true
  if (after === ' ' && /[€$£¥₹%]/.test(text.charAt(end + 1))) return true
  if (/(?:usd|eur|gbp|chf|jpy|cny|rmb|inr|xxx|cad|aud|r\$) ?$/.test(folded.slice(Math.max(0, start - 5), start))) return true
  return isMasked(text, start, end) || isUnitAt(folded, end)
}

/** "•••• 4242", "****1234"; but *482913* is how plain text writes bold. */
function isMasked(text: string, start: number, end: number): boolean {
  const lead = /[*•●·…xX.]{2,8} ?$|[*•●…] ?$/.exec(text.slice(Math.max(0, start - 9), start))?.[0]
  if (!lead) return false
  if (/^\.+ ?$/.test(lead)) return !lead.endsWith(' ')
  return !(/^\*+$/.test(lead) && text.startsWith(lead, end)) && !/^[•●*] $/.test(lead)
}

/** Only a few letters are looked at on either side, because lines of strangers may be long. */
function isAlone(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - 13), start)
  const after = text.slice(end, end + 13)
  const lineEnd = after.indexOf('\n')
  const isBounded = (before.includes('\n') || start <= 13) && (lineEnd >= 0 || end + 13 >= text.length)
  return isBounded && !/[\p{L}\p{N}]/u.test(before.slice(before.lastIndexOf('\n') + 1) + (lineEnd < 0 ? after : after.slice(0, lineEnd)))
}

const isDigits = (text: string) => /^\d+$/.test(text)
const areEqual = (run: Token[]) => run.every(({ text }) => text.length === (run[0] as Token).text.length)
const sizeOf = (run: Token[]) => run.reduce((sum, { text }) => sum + text.length, 0)
const isLikeDate = (digits: string) =>
  /^(?:19|20)\d\d$/.test(digits) || /^(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$/.test(digits)

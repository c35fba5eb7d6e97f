import { attributionLine, forwardMark, headerNames, mobileSignature, originalMark, plainBeginnings } from './quote-marks.ts'

export interface SplitReply {
  /** What the sender wrote now. */
  text: string
  /** The message it answers, as far as it is repeated, with the line that announces it. */
  quoted: string
  /** Below "-- ", or a phone's own line. */
  signature: string
}

const maxLetters = 200_000
const maxLines = 5000
/** "On Monday … wrote:" is folded by mail programs, over two or three lines. */
const maxAttributionLines = 3

/**
 * Takes a reply apart. Lines that begin with ">" are quoted wherever they stand, so that answers between them are kept; from a mark
 * that quotes without ">" (Outlook, phones) all the rest is the quoted message.
 */
export function splitQuoted(reply: string): SplitReply {
  const start = reply.slice(0, maxLetters)
  if (isAllNew(start)) return { text: start.trim(), quoted: '', signature: '' }
  const lines = (start.includes('\r') ? start.replace(/\r\n?/g, '\n') : start).split('\n', maxLines).map((line) => line.trimEnd())
  const fresh: string[] = []
  const quoted: string[] = []
  let index = 0
  while (index < lines.length) {
    const length = attributionAt(lines, index)
    if (length > 0 && !isQuotedAfter(lines, index + length)) break
    if (length === 0 && isCutMark(lines, index)) break
    const taken = Math.max(length, 1)
    const target = length > 0 || isQuotedLine(lines[index] as string) ? quoted : fresh
    for (const end = index + taken; index < end; index++) target.push(lines[index] as string)
  }
  quoted.push(...lines.slice(index))
  const { text, signature } = splitSignature(fresh)
  return { text, quoted: quoted.join('\n').trim(), signature }
}

const beginsPlainly = (text: string, at = 0): boolean => plainBeginnings.has(text.charCodeAt(at))

/** Nothing to divide, nor to tidy: a short mail is often so, and is not taken apart to be put together again. */
function isAllNew(text: string): boolean {
  if (text.includes(':') || text.includes('：') || text.includes('\r')) return false
  let lines = 1
  for (let end = text.indexOf('\n'), start = 0; ; start = end + 1, end = text.indexOf('\n', start), lines++) {
    if (!beginsPlainly(text, start)) return start === text.length
    if (end < 0) return true
    if (lines === maxLines || mayBeBlank(text.charCodeAt(end - 1))) return false
  }
}

/** Beyond ASCII there are many kinds of blanks. The end of an empty line is none. */
const mayBeBlank = (code: number): boolean => (code <= 0x20 && code !== 0x0a) || code > 0x7e

const isQuotedLine = (line: string) => !beginsPlainly(line) && /^\s{0,3}(?:>|＞|\|(?=\s|>))/.test(line)

/** How many lines announce a quotation here: 0 for none. */
function attributionAt(lines: string[], start: number): number {
  if (!endsInColon(lines[start]) && !endsInColon(lines[start + 1]) && !endsInColon(lines[start + 2])) return 0
  let joined = ''
  for (let count = 1; count <= maxAttributionLines; count++) {
    const line = lines[start + count - 1]?.trim()
    if (!line || line.length > 300 || isQuotedLine(line)) return 0
    joined = joined === '' ? line : `${joined} ${line}`
    if (endsInColon(line) && attributionLine.test(joined)) return count
  }
  return 0
}

const endsInColon = (line: string | undefined) => line !== undefined && (line.endsWith(':') || line.endsWith('：'))

/** The next line that says anything is quoted with ">": then the quotation marks its own end. */
function isQuotedAfter(lines: string[], start: number): boolean {
  const next = lines.slice(start, start + 5).find((line) => line.trim() !== '')
  return next === undefined || isQuotedLine(next)
}

/** All marks begin with a rule or have a colon; most lines have neither, and are not looked at closely. */
const mayCut = /^\s*[-_=*]|[:：]/

function isCutMark(lines: string[], index: number): boolean {
  if (!mayCut.test(lines[index] as string)) return false
  const line = (lines[index] as string).trim()
  if (line.length > 200) return false
  return (
    originalMark.test(line) ||
    forwardMark.test(line) ||
    isHeaderBlock(lines, index) ||
    (/^_{20,}$/.test(line) && isHeaderBlock(lines, index + 1))
  )
}

/** "From: … Sent: … To: … Subject: …" as mail programs repeat them, perhaps in bold: the first names a sender, and two others follow. */
function isHeaderBlock(lines: string[], start: number): boolean {
  const names: number[] = []
  for (const line of lines.slice(start, start + 7)) {
    const [, name] = /^\s*\*{0,2}([^\s:：*][^:：*]{0,20}?)\s*\*{0,2}\s?[:：]\*{0,2}/.exec(line) ?? []
    const which = name ? headerNames.findIndex((pattern) => pattern.test(name)) : -1
    if (names.length === 0 && which !== 0) return false
    if (which >= 0) names.push(which)
  }
  return new Set(names).size >= 3
}

function splitSignature(lines: string[]): { text: string; signature: string } {
  const mark = lines.findIndex(
    (line, index) =>
      index > 0 && !beginsPlainly(line) && (/^--\s?$/.test(line) || (line.length < 120 && mobileSignature.test(line.trim()))),
  )
  const first = mark < 0 && mobileSignature.test(lines[0]?.trim() ?? '') ? 0 : mark
  if (first < 0) return { text: lines.join('\n').trim(), signature: '' }
  return { text: lines.slice(0, first).join('\n').trim(), signature: lines.slice(first).join('\n').trim() }
}

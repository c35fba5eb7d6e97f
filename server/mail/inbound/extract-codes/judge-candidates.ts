import { type Bond, bondsOf, sentenceEnd } from './bonds.ts'
import type { Candidate } from './candidates.ts'
import type { Document } from './document.ts'
import type { Tenor } from './signs.ts'
import { isAction, isVocabulary, signs } from './vocabulary/index.ts'

export interface Judged {
  value: string
  reading: Document
  start: number
  /** Zero and below: not a code. */
  score: number
}

/** The best codes of one reading of the mail come out with the highest scores. */
export function judgeCandidates(reading: Document, tenor: Tenor, sender: string): Judged[] {
  const bonds = reading.candidates.length === 0 ? [] : bondsOf(reading, reading.candidates)
  return reading.candidates.map((candidate, index) => {
    const { value, start, shape } = candidate
    const isWord = shape !== 'digits' && (sender.includes(value.toLowerCase()) || isVocabulary(value))
    return { value, reading, start, score: isWord ? 0 : scoreOf(reading, candidate, bonds[index] ?? null, tenor) }
  })
}

function scoreOf(reading: Document, candidate: Candidate, bond: Bond | null, tenor: Tenor): number {
  const layout = (candidate.isAlone ? 12 : 0) + candidate.level * 6
  if (!bond) return isBareCode(reading, candidate, tenor) ? 5 + layout : 0
  if (bond.kind === 'other' || isTooVague(candidate, bond, tenor)) return 0
  if (bond.kind !== 'code' && !isExplained(reading, candidate, bond, tenor)) return 0
  const nearness = (bond.isDirect ? 20 : 0) - Math.min(10, bond.distance / 20)
  return (bond.kind === 'code' ? 40 : 15) + nearness + layout - (candidate.shape === 'letters' ? 15 : 0)
}

const isAbout = (tenor: Tenor) => tenor.inSubject || tenor.inText

/** What looks like something else needs a closer bond. */
function isTooVague({ shape, isAlone, level, isLikeDate, isDoubtful }: Candidate, { kind, isDirect }: Bond, tenor: Tenor): boolean {
  if (isLikeDate) return !isDirect || (kind !== 'code' && !isAlone)
  if (isDoubtful) return kind !== 'code' || !(isDirect || isAlone)
  if (shape === 'letters') return kind === 'command' || !(isAlone || (isDirect && (isAbout(tenor) || tenor.expires || tenor.warns)))
  return shape === 'mixed' && !isDirect && !isAlone && level === 0
}

/** Whether a word that names many things names a code here. */
function isExplained(reading: Document, candidate: Candidate, { kind, label, isDirect }: Bond, tenor: Tenor): boolean {
  const { start, end, isAlone, level } = candidate
  if (tenor.warns) return true
  const standsOut = isDirect && (isAlone || level > 0)
  if (tenor.isOccasion) return kind === 'maybe' && tenor.inSubject && (tenor.expires || standsOut)
  if (tenor.inSubject || (tenor.expires && standsOut)) return true
  if (kind === 'maybe' && isDirect && isPlain(reading, candidate)) return true
  return saysPurpose(reading, Math.min(start, label.start), label.start) || saysPurpose(reading, label.end, Math.max(end, label.end))
}

/** "Your code is 482913", in a mail without any other number but small ones and years. */
function isPlain({ text }: Document, { shape, value, isLikeDate, isDoubtful }: Candidate): boolean {
  if (shape !== 'digits' || isLikeDate || isDoubtful || value.length < 4 || value.length > 8) return false
  const numbers = text.match(/\d{3,}/g) ?? []
  return numbers.every((number) => number === value || /^(?:19|20)\d\d$/.test(number))
}

/** Whether the sentence around this part of the text speaks of signing in, of proving something or of a password. */
function saysPurpose({ text, folded }: Document, from: number, to: number): boolean {
  const before = text.slice(Math.max(0, from - 120), from)
  const after = text.slice(to, to + 100)
  const starts = [...before.matchAll(boundary)].at(-1)
  const ends = boundaryOnce.exec(after)
  const start = starts ? from - before.length + starts.index + 1 : from - before.length
  return signs.find(folded.slice(start, to + (ends?.index ?? after.length))).some(({ value }) => isAction(value))
}

const boundaryOnce = new RegExp(`${sentenceEnd.source}|\\n\\n|\\n(?=[-*•])`)
const boundary = new RegExp(boundaryOnce.source, 'g')

/** Nothing names it, but the mail is about nothing else. */
function isBareCode({ candidates }: Document, { shape, isAlone, level, isLikeDate, isDoubtful, value }: Candidate, tenor: Tenor): boolean {
  if (!isAlone || isLikeDate || isDoubtful || shape === 'letters') return false
  const size = value.replace(/-/g, '').length
  if (size < 4 || size > 8) return false
  const isOnly = candidates.filter((other) => other.shape !== 'letters').every((other) => other.value === value)
  const standsOut = level === 2 || isOnly
  if (tenor.isPromised && standsOut) return true
  return !tenor.isOccasion && isAbout(tenor) && (tenor.expires || tenor.warns || (tenor.inSubject && standsOut))
}

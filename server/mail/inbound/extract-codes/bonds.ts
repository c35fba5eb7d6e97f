import type { Candidate } from './candidates.ts'
import type { Document } from './document.ts'
import type { Found } from './phrase-finder.ts'
import { type LabelKind, labels } from './vocabulary/index.ts'

/** Which name a number goes by. */
export interface Bond {
  kind: LabelKind
  label: Found<LabelKind>
  /** Letters between the name and the number. */
  distance: number
  /** "Code: 482913", "482913 is your code": nothing but a link word lies between. */
  isDirect: boolean
}

/** The names and the numbers next to a candidate. */
interface Around {
  before: Found<LabelKind>[]
  after: Found<LabelKind>[]
  previous: Candidate | undefined
  following: Candidate | undefined
}

export const sentenceEnd = /[.!?](?=\s)|[。！？]/
/** What may stand between a name and its number without weakening the bond. */
const linkWords =
  /^[\s:：=→>"'“”„«»「」『』【】()（）[\]*_]*(?:(?:is|ist|lautet|est|es|e|è|é|is the|is your|です|は|が|为|為|是|如下|below|here)[\s:：=、,「『【（"'*_]*)?$/
/** "… is your Harbor" before "code", "(your code". Without a verb or an opening mark nothing may lie between. */
const linkWordsAfter =
  /^(?:[ "'“”„«»」』】)*_,-]*|(?: ?[-(（] ?|，|[\s"'“”„«»」』】)*_,-]*(?:(?:is|ist|lautet|est|es|è|é|als|as)\s|が|は|为|為|是)[\s"'*_]*)(?:(?:your|the|my|dein|deine|ihr|ihre|der|die|votre|ton|le|su|tu|el|seu|o|il|tuo|je|uw|de)\s|あなたの|お客様の|您的|你的)?(?:(?:[\p{L}\d.&']{2,20} ){0,3}|[\p{sc=Han}\p{sc=Katakana}ー]{1,12}))$/u
/** "Simply", "the number": a command reaches over a word or two. */
const commandGap = /^(?: \p{L}{2,12}){0,2} ?["'“„«「]?$/u
const numberMark = /^ ?(?:#|no|nr|№|n|num|number|numero|nummer|id)? ?[.:°º#]{0,2} ?$/

/** The bond of each candidate, or null where nothing names it. */
export function bondsOf(document: Document, candidates: Candidate[]): (Bond | null)[] {
  const named = labels.find(document.folded).map((label) => withoutUnknownCompounds(document.text, label))
  let next = 0
  return candidates.map((candidate, index) => {
    while (next < named.length && (named[next] as Found<LabelKind>).start < candidate.start) next++
    return bondOf(document, candidate, {
      before: named.slice(Math.max(0, next - 6), next).reverse(),
      after: named.slice(next, next + 2),
      previous: candidates[index - 1],
      following: candidates[index + 1],
    })
  })
}

/** 社員コード and 行业代码 are codes of something: where words are not divided, a word before the name is a part of it. */
function withoutUnknownCompounds(text: string, label: Found<LabelKind>): Found<LabelKind> {
  const isCompound =
    label.value === 'maybe' &&
    /[\p{sc=Han}\p{sc=Katakana}]/u.test(text.charAt(label.start)) &&
    /[\p{sc=Han}\p{sc=Katakana}ー]/u.test(text.charAt(label.start - 1))
  return isCompound && !/[用桁位下列]/.test(text.charAt(label.start - 1)) ? { ...label, value: 'other' } : label
}

function bondOf(document: Document, candidate: Candidate, around: Around): Bond | null {
  const before = bondBefore(document, candidate, around)
  const after = bondAfter(document, candidate, around)
  if (!before || !after) return before ?? after
  if (before.kind === 'other') return before
  if (after.isDirect && !before.isDirect) return after
  return rank(after) > rank(before) ? after : before
}

const rank = ({ kind, isDirect }: Bond) => ['other', 'command', 'maybe', 'code'].indexOf(kind) + (isDirect ? 2 : 0)

/** The strongest name before it; but a name of something else right before it decides. */
function bondBefore(document: Document, candidate: Candidate, around: Around): Bond | null {
  let best: Bond | null = null
  for (const label of around.before) {
    if (label.end > candidate.start) continue
    const between = document.text.slice(label.end, candidate.start)
    if (between.length > 320) break
    const isTaken = around.previous !== undefined && around.previous.start >= label.end
    if (label.value === 'other') {
      if (!best && !isTaken && isNameOfOther(document.text, between, label, around.before)) return bondTo(label, between, true)
      continue
    }
    const isDirect = linkWords.test(between.toLowerCase()) || (label.value === 'command' && commandGap.test(between))
    if (!isDirect && (label.value === 'command' || !reaches(between, candidate, isTaken))) continue
    const bond = bondTo(label, between, isDirect)
    if (!best || rank(bond) > rank(best)) best = bond
  }
  return best
}

const bondTo = (label: Found<LabelKind>, between: string, isDirect: boolean): Bond => ({
  kind: label.value,
  label,
  distance: between.length,
  isDirect,
})

/** In "the code for your order: 482913" the code is meant, unless the number follows the other name at once: "order 482913". */
function isNameOfOther(text: string, between: string, label: Found<LabelKind>, named: Found<LabelKind>[]): boolean {
  const isSameLine = !between.includes('\n')
  const isMarked = numberMark.test(between.toLowerCase())
  if (!isMarked && !linkWords.test(between.toLowerCase()) && !(isSameLine && between.length <= 40 && /^[^.!?。]*[:：] ?$/.test(between)))
    return false
  const isCounted = isMarked && isSameLine && !between.includes(':')
  const isOfCode = named.some(
    ({ end, value }) => end <= label.start && (value === 'code' || value === 'maybe') && isSameSentence(text.slice(end, label.start)),
  )
  return isCounted || !isOfCode
}

const isSameSentence = (between: string) => between.length <= 90 && !sentenceEnd.test(between) && !between.includes('\n\n')

/** How far a name reaches: to the end of its sentence; further where the number has a line or large type of its own. */
function reaches(between: string, candidate: Candidate, isTaken: boolean): boolean {
  const isSameLine = !between.includes('\n')
  const endsSentence = sentenceEnd.test(between)
  if (announcement.test(between.toLowerCase()) && isSameLine && between.length <= 160 && !endsSentence) return true
  if (candidate.isAlone || candidate.level === 2) return lineEnds(between) <= 4
  if (isTaken || endsSentence) return false
  if (candidate.level === 1) return between.length <= 80
  if (announcement.test(between.toLowerCase())) return between.length <= 60 && !between.includes('\n\n')
  return between.length <= 25 && isSameLine && (candidate.value.includes('-') || !/[,;，；、]/.test(between))
}

/** "… is", "…:" */
const announcement = /(?:[:：=]|(?<!\p{L})(?:is|ist|lautet|est|es|è|é)|は|が|为|為|是)[\s"'“„«「『【（(*_]{0,4}$/u

const lineEnds = (text: string) => text.match(/\n+/g)?.length ?? 0

function bondAfter({ text }: Document, candidate: Candidate, { after, following }: Around): Bond | null {
  for (const label of after) {
    if (label.start < candidate.end) continue
    const between = text.slice(candidate.end, label.start)
    if (between.length > 90 || (following && following.end <= label.start && !candidate.isAlone)) return null
    // "1250, code 5566": the name belongs to the number that follows it.
    const isTaken = following && following.start >= label.end && linkWords.test(text.slice(label.end, following.start).toLowerCase())
    if (isTaken) return null
    const isDirect = linkWordsAfter.test(between.toLowerCase())
    if (label.value === 'command') {
      if (isDirect && between.length <= 2) return bondTo(label, between, true)
      continue
    }
    if (label.value === 'other') return isDirect && between.length <= 12 ? bondTo(label, between, true) : null
    return isDirect || (candidate.isAlone && lineEnds(between) <= 1) ? bondTo(label, between, isDirect) : null
  }
  return null
}

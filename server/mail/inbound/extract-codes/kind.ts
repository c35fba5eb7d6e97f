import type { ExtractedData } from '../parsed-mail.ts'
import type { Document } from './document.ts'
import type { ActionLink } from './find-link.ts'
import { fold } from './fold.ts'
import { labels, signs, wayOut } from './vocabulary/index.ts'

type Kind = ExtractedData['kind']

interface Findings {
  title: Document
  body: Document | null
  /** Where the code stands in the body. */
  codeAt: number | null
  link: ActionLink | null
}

/**
 * What the code or the link is for: the subject knows best, then the words of the link, then the sentences around the code. All kinds of
 * mail call their code a "verification code", so that such a name alone decides only when nothing else does.
 */
export function kindOf({ title, body, codeAt, link }: Findings): Kind {
  const around = body ? sentencesAround(body.text, codeAt).map(fold) : []
  const sources = [[title.folded], [link?.words ?? ''], around]
  for (const sentences of sources) {
    const kinds = sentences.flatMap(purposesIn)
    if (kinds.includes('password_reset')) return 'password_reset'
    if (kinds[0]) return kinds[0]
  }
  const isVerification = sources.flat().some((sentence) => signs.find(sentence).some(({ value }) => value === 'verification'))
  return isVerification ? 'verification' : 'other'
}

/** The purposes that are named, from left to right, without those that are only part of a code's name. */
function purposesIn(sentence: string): Kind[] {
  const names = labels.find(sentence).filter(({ value }) => value === 'code')
  const found = signs.find(sentence)
  return found.flatMap(({ value, start, end }, index) => {
    if (value === 'sign_in' || value === 'password_reset') return [value]
    const isName = names.some((name) => name.start <= start && end <= name.end)
    // "Verify your sign-in" is about the sign-in.
    const next = found[index + 1]
    const isOfNext = next?.value === 'sign_in' && next.start - end <= 15
    return value === 'verification' && !isName && !isOfNext ? [value] : []
  })
}

/** "If you did not try to sign in …" says nothing about the purpose of this mail. */
function sentencesAround(text: string, codeAt: number | null): string[] {
  const near = codeAt === null ? text.slice(0, 600) : text.slice(Math.max(0, codeAt - 400), codeAt + 250)
  return near.split(/(?<=[.!?])\s|[。！？]|\n\n/).filter((sentence) => {
    const folded = fold(sentence)
    return !wayOut.has(folded) && !signs.find(folded).some(({ value }) => value === 'caution')
  })
}

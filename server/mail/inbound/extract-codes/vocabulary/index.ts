import { fold } from '../fold.ts'
import { PhraseFinder } from '../phrase-finder.ts'
import { chinese } from './chinese.ts'
import { dutch } from './dutch.ts'
import { english } from './english.ts'
import { french } from './french.ts'
import { german } from './german.ts'
import { italian } from './italian.ts'
import { japanese } from './japanese.ts'
import { portuguese } from './portuguese.ts'
import { spanish } from './spanish.ts'
import type { Vocabulary } from './vocabulary.ts'

const languages: Vocabulary[] = [english, german, french, spanish, japanese, chinese, portuguese, italian, dutch]

/** What names the number beside it. Later ones win where languages share a word: a name of something else is overruled by a code's. */
export type LabelKind = 'other' | 'command' | 'maybe' | 'code'
/** What a mail is about, and what in it says that it is. */
export type Sign = 'sign_in' | 'verification' | 'password_reset' | 'expiry' | 'caution' | 'occasion'

export const isAction = (sign: Sign): boolean => sign === 'sign_in' || sign === 'verification' || sign === 'password_reset'

const all = <T>(kind: keyof Vocabulary, value: T) =>
  languages.flatMap((language) => language[kind].map((phrase) => [phrase, value] as const))

/** One value for each phrase: of equal ones the last. */
const finderOf = <T>(...phrases: (readonly (readonly [string, T])[])[]) => new PhraseFinder(new Map(phrases.flat()))

export const labels = finderOf<LabelKind>(
  all('otherNumbers', 'other'),
  all('commands', 'command'),
  all('maybeCodes', 'maybe'),
  all('codes', 'code'),
)

export const signs = finderOf<Sign>(
  all('occasions', 'occasion'),
  all('verification', 'verification'),
  all('sign_in', 'sign_in'),
  all('password_reset', 'password_reset'),
  all('caution', 'caution'),
  all('expiry', 'expiry'),
)

export const wayOut = finderOf<true>(all('wayOut', true))
export const here = finderOf<true>(all('here', true))
export const buttons = finderOf<true>(all('buttons', true))
export const otherLinks = finderOf<true>(all('otherLinks', true))

const isOneLetter = (unit: string) => unit.length === 1
const letterUnits = new Set(languages.flatMap(({ units }) => units.filter(isOneLetter)))
const wordUnits = finderOf<true>(
  languages.flatMap(({ units }) => units.filter((unit) => !isOneLetter(unit)).map((unit) => [unit, true] as const)),
)

/** Whether a number that ends here is an amount of something. */
export function isUnitAt(folded: string, at: number): boolean {
  const start = folded.charAt(at) === ' ' ? at + 1 : at
  return letterUnits.has(folded.charAt(start)) || wordUnits.matchAt(folded, start) !== null
}

/** Whether a word is one of ours, such as a heading in capitals: it is no code. */
export const isVocabulary = (word: string): boolean => {
  const folded = fold(word)
  return labels.has(folded) || signs.has(folded) || buttons.has(folded) || otherLinks.has(folded)
}

import type { Document } from './document.ts'
import { isAction, labels, type Sign, signs } from './vocabulary/index.ts'

/** What a mail says about itself. */
export interface Tenor {
  /** It is about signing in, proving something, or a password: by its subject, by its text. */
  inSubject: boolean
  inText: boolean
  expires: boolean
  warns: boolean
  /** Its subject promises a code: "Your sign-in code". */
  isPromised: boolean
  /** It is about a booking, a parcel, a meeting or an offer. */
  isOccasion: boolean
}

export function tenorOf(subject: Document, bodies: Document[]): Tenor {
  const inSubject = new Set(signs.find(subject.folded).map(({ value }) => value))
  const inText = new Set(bodies.flatMap(({ folded }) => signs.find(folded).map(({ value }) => value)))
  const has = (sign: Sign) => inSubject.has(sign) || inText.has(sign)
  return {
    inSubject: [...inSubject].some(isAction),
    inText: [...inText].some(isAction),
    isPromised: labels.find(subject.folded).some(({ value }) => value === 'code'),
    expires: has('expiry'),
    warns: has('caution'),
    isOccasion: has('occasion'),
  }
}

import type { Document } from './document.ts'
import { fold, plainLetters } from './fold.ts'
import type { WrittenLink } from './html-document.ts'
import type { Tenor } from './signs.ts'
import { buttons, here, isAction, otherLinks, signs, wayOut } from './vocabulary/index.ts'

export interface ActionLink {
  url: string
  score: number
  /** The words that say what it does. */
  words: string
}

const maxUrl = 2000
const actionWords =
  /(?:^|[^a-z])(?:(?:verif|confirm|conferm|bestaetig|bevestig|aktiv|activ|freischalt|valid|reset|recover|recuper|restablec|reinit|zuruecksetz|regist|complet|magic|auth|finish|passwor[dt]|connexion|acceso|one-?time)[a-z]*|log-?in|sign-?(?:in|up)|token|otp|opt-?in|callback|session)(?![a-z])/
const otherWords =
  /unsubscribe|optout|opt-out|preferences|privacy|terms|\/help|\/support|\/legal|\/faq|\.(?:png|jpe?g|gif|svg|css|ico|pdf)(?:$|\?)/

/** The link that signs in, confirms or resets. Not each mail has one, and most links are something else. */
export function findLink(document: Document, tenor: Tenor): ActionLink | null {
  if (!tenor.inSubject && !tenor.inText) return null
  let best: ActionLink | null = null
  for (const link of document.links) {
    const judged = judgeLink(document, link, tenor)
    if (judged && judged.score > (best?.score ?? 0)) best = judged
  }
  return best
}

function judgeLink({ folded }: Document, { url, start, end }: WrittenLink, tenor: Tenor): ActionLink | null {
  const target = readTarget(url)
  // A link without a secret of its own leads to a page that everybody sees, such as the sign-in form.
  if (!target || otherWords.test(target) || !isTokenLike(target)) return null
  const isBare = /^[~\s]*$/.test(folded.slice(start, end))
  const written = isBare ? '' : folded.slice(start, Math.min(end, start + 200))
  const lead = folded.slice(Math.max(0, start - 160), start)
  const sentence = lastSentence(lead)
  if (wayOut.has(written) || wayOut.has(sentence) || (isBare && otherLinks.has(lead.slice(-25)))) return null

  const ownActions = actionsIn(written)
  if (otherLinks.has(written) && ownActions.length === 0) return null
  const leadActions = actionsIn(lead)
  const [inWords, inLead, inUrl] = [ownActions.length > 0, leadActions.length > 0, actionWords.test(target)]
  const isVague = isBare || here.has(written)
  const isButton = buttons.has(written)
  if (!inWords && !(isVague && (inLead || inUrl)) && !(isButton && tenor.inSubject)) return null
  // Any mail may ask to sign in. In one that is about something else, only a confirmation or a reset counts that its address confirms.
  const isProof = [...ownActions, ...leadActions].some((action) => action !== 'sign_in')
  if (!tenor.inSubject && !tenor.warns && !(isProof && (inUrl || tenor.expires))) return null
  const score = (inWords ? 6 : 0) + (isButton ? 2 : 0) + (inUrl ? 3 : 0) + (inLead ? 2 : 0)
  return { url, score, words: inWords ? written : isVague ? sentence : '' }
}

const actionsIn = (folded: string) => signs.find(folded).flatMap(({ value }) => (isAction(value) ? [value] : []))

/** The words before the link, back to the end of the sentence before. */
function lastSentence(lead: string): string {
  const end = Math.max(lead.lastIndexOf('. ', lead.length - 4), lead.lastIndexOf('。', lead.length - 3))
  return end < 0 ? lead : lead.slice(end + 1)
}

/** Path and query in small letters; null for what is no web address. */
function readTarget(url: string): string | null {
  if (url.length > maxUrl || !/^https?:\/\/[^\s/?#]+/i.test(url) || /\s/.test(url)) return null
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '')
  return fold(plainLetters(path)).replace(/ /g, '-')
}

/** A part of the path or a value that nobody would type. */
const isTokenLike = (target: string): boolean =>
  target.split(/[/?&=#;:]/).some((part) => {
    if (part.length >= 24) return /\d/.test(part) || !/[-_.]/.test(part)
    const digits = part.replace(/[^\d]/g, '').length
    return part.length >= 8 && digits >= 2 && /[a-z]/.test(part)
  })

import type { ExtractedData, ParsedMail } from '../parsed-mail.ts'
import { findCandidates } from './candidates.ts'
import { type Document, documentOfHtml, documentOfText } from './document.ts'
import { findLink } from './find-link.ts'
import { fold, plainLetters } from './fold.ts'
import { type Judged, judgeCandidates } from './judge-candidates.ts'
import { kindOf } from './kind.ts'
import { tenorOf } from './signs.ts'

const maxSubject = 500
const maxSender = 300

export type MailToRead = Pick<ParsedMail, 'subject' | 'text' | 'html' | 'from'>

/**
 * Finds the one-time code and the action link of a mail by the words beside them, by layout, and by what they must not be: see
 * docs/extraction.md. It guesses: what it returns is a convenience and proves nothing. Time grows with the length of the mail only.
 */
export function extractData({ subject, text, html, from }: MailToRead): ExtractedData | null {
  const title = withCandidates(documentOfText((subject ?? '').slice(0, maxSubject)))
  const bodies = [html ? documentOfHtml(html) : null, text ? documentOfText(text) : null]
    .filter((body) => body !== null)
    .map(withCandidates)
  if (![title, ...bodies].some(({ candidates, links }) => candidates.length > 0 || links.length > 0)) return null
  const tenor = tenorOf(title, bodies)
  const sender = fold(plainLetters(`${from?.name ?? ''} ${from?.address.split('@').at(-1) ?? ''}`.slice(0, maxSender)))

  const inTitle = bestOf(judgeCandidates(title, tenor, sender))
  const inBody = bestOf(bodies.flatMap((body) => judgeCandidates(body, tenor, sender)))
  const code = inTitle?.value ?? inBody?.value
  const link = bodies.map((body) => findLink(body, tenor)).find((found) => found !== null) ?? null
  if (!code && !link) return null

  const kind = kindOf({ title, body: inBody?.reading ?? bodies[0] ?? null, codeAt: inBody?.start ?? null, link })
  return { ...(code ? { code } : {}), ...(link ? { link: link.url } : {}), kind }
}

function withCandidates(document: Document): Document {
  document.candidates = findCandidates(document)
  return document
}

/** The first of the highest, if it is high enough to be a code at all. */
const bestOf = (judged: Judged[]): Judged | null =>
  judged.reduce<Judged | null>((best, each) => (each.score > (best?.score ?? 0) ? each : best), null)

import { isDeliveryTokenForm } from '../../base/delivery-token.ts'
import { type DeliveryId, parseId } from '../../base/ids.ts'
import type { ParsedMail } from '../inbound/parsed-mail.ts'
import { findVerp, parseUnsubscribeAddress, parseVerp } from '../verp.ts'
import { automaticKind } from './is-automatic.ts'
import { asksToStop } from './is-stop.ts'
import { type ReportParts, readParts } from './read-parts.ts'
import { readReport } from './read-report.ts'
import type { Report } from './report.ts'

/** What the words of a mail may say about mail of ours. Plain data, which a thread can hand over; nothing of it is believed yet. */
export interface Backchannel {
  /** A mail system wrote it, as its header says. */
  is_bounce: boolean
  report: Report | null
  /** In a return path of ours that the report has in it, be it with the message it is about or anywhere else. */
  return_token: string | null
  wish: Wish | null
}

/** Somebody asks to be left alone, and names or quotes what they got. */
export interface Wish {
  from: string
  /** By its Message-IDs, in their order. */
  copies: DeliveryId[]
  /** Of the links that it quotes. */
  tokens: string[]
}

interface Envelope {
  envelope_from: string
  recipients: string[]
}

/** Only what may be a report or a wish is read once more for it: most mail is neither. */
export function isWorthALook({ automatic, subject, text, extracted_text }: ParsedMail, { envelope_from, recipients }: Envelope): boolean {
  if (recipients.some((address) => parseVerp(address) !== null || parseUnsubscribeAddress(address) !== null)) return true
  if (automatic === 'bounce' || envelope_from === '' || /^complaint about message from /i.test(subject ?? '')) return true
  // A wish is short; what is longer is not looked at closely.
  return automatic === 'none' && (extracted_text?.length ?? 0) < 500 && asksToStop({ subject, text: text ?? '' })
}

/** Looks at the beginning of the mail only, whatever its size. Null for what cannot be taken apart. */
export async function readBackchannel(raw: Buffer): Promise<Backchannel | null> {
  const parts = await readParts(raw)
  if (!parts) return null
  const kind = automaticKind(parts.headers)
  const report = readReport(parts)
  return {
    is_bounce: kind === 'bounce',
    report,
    return_token: report && tokenInReport(report, raw),
    wish: report === null && kind === 'none' && asksToStop(parts) ? wishIn(parts) : null,
  }
}

const headBytes = 256 * 1024

/** Complaints come to one address for all, with the message they are about; bounces may come to whom a forwarder made of the return path. */
const tokenInReport = ({ original }: Report, raw: Buffer): string | null =>
  findVerp(Object.values(original.headers).join('\n')) ?? findVerp(raw.subarray(0, headBytes).toString('latin1'))

const wishIn = (parts: ReportParts): Wish => ({
  from: addressIn(fieldOf(parts, 'from')),
  copies: copiesNamed(parts),
  tokens: tokensIn(`${parts.text}\n${parts.html}`),
})

const fieldOf = ({ headers }: ReportParts, field: string): string => headers.find(({ name }) => name === field)?.value ?? ''
const addressIn = (from: string): string => /<([^<>]+)>/.exec(from)?.[1] ?? from

/** Message-IDs of ours tell which row they are of. Only the last ones: what is answered stands at the end. */
const maxNames = 20
function copiesNamed(parts: ReportParts): DeliveryId[] {
  const names = `${fieldOf(parts, 'references')} ${fieldOf(parts, 'in-reply-to').slice(0, 1_000)}`
  const ids = [...names.matchAll(/(?<![\w.-])(dlv_\w{1,60})@/g)].slice(-maxNames).map(([, id]) => parseId('dlv', id as string))
  return [...new Set(ids.filter((id) => id !== null))]
}

/**
 * A quoted mail has them in its links, one for those that lead away and one for the way out; a letter full of them is no reply to ours.
 * Some receivers' filters have wrapped the links in theirs, encoded.
 */
const maxTokens = 5
function tokensIn(text: string): string[] {
  const tokens = new Set<string>()
  for (const [, written] of text.matchAll(/(?:[/+]|%2[bf])([a-z\d]{52})(?![a-z\d])/gi)) {
    const token = (written as string).toLowerCase()
    if (isDeliveryTokenForm(token)) tokens.add(token)
    if (tokens.size === maxTokens) break
  }
  return [...tokens]
}

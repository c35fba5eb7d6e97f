import { isDeliveryTokenForm } from '../../base/delivery-token.ts'
import { type DeliveryId, type ProjectId, parseId } from '../../base/ids.ts'
import { addressKey } from '../../mail/address.ts'
import { automaticKind } from '../../mail/reports/is-automatic.ts'
import { asksToStop } from '../../mail/reports/is-stop.ts'
import { type ReportParts, readParts } from '../../mail/reports/read-parts.ts'
import { readReport } from '../../mail/reports/read-report.ts'
import type { Report } from '../../mail/reports/report.ts'
import { findVerp, parseUnsubscribeAddress, parseVerp } from '../../mail/verp.ts'
import type { Services } from '../../operations/context.ts'
import { applyReport } from './apply-report.ts'
import { findMailKey, findRecipientKey, projectFinder, type Shown } from './find-recipient.ts'
import { addressOf } from './give-up-address.ts'
import type { RecipientKey, RecipientRow } from './recipient.ts'
import { findRecipient, findRecipients } from './recipient-queries.ts'
import { unsubscribeRecipient } from './unsubscribe-recipient.ts'

/** A mail that came in. The envelope's sender is '' for `<>`. */
export interface BackchannelMail {
  envelope_to: string
  envelope_from: string
  raw: Buffer
  /** Whose mailboxes it came to: a mail that it names is looked for among theirs. */
  project_ids?: ProjectId[]
}

/** What the mail was taken for; null for one that a person should read. */
export type Applied = 'bounce' | 'complaint' | 'unsubscribe' | null

type Needs = Pick<Services, 'database' | 'secrets'>

/**
 * Bounces, complaints and wishes to be left alone, from wherever they come. Only a token that we signed says whom they are about:
 * addresses and names in a mail can be written by anybody. The one in the envelope counts before all others. A wish may also name the
 * mail by its Message-ID, which has enough chance in it that only who has the mail can.
 */
export async function applyBackchannelMail(services: Needs, mail: BackchannelMail): Promise<Applied> {
  const leaving = parseUnsubscribeAddress(mail.envelope_to)
  if (leaving) return applyMailto(services, leaving, mail)
  const report = await readReport(mail.raw)
  if (report) return applyReportMail(services, report, mail)
  return applyReply(services, mail)
}

const keyOf = ({ database, secrets }: Needs, shown: Shown): Promise<RecipientKey | null> =>
  findRecipientKey({ secrets }, shown, projectFinder(database))

/**
 * The address says it all, so the mail may be empty, and a program may have written it for somebody. Nothing is ever sent from that
 * address, so nothing can be an answer to it; a bounce there is a stray.
 */
async function applyMailto(services: Needs, token: string, mail: BackchannelMail): Promise<Applied> {
  const parts = await readParts(mail.raw)
  if (mail.envelope_from === '' || (parts && automaticKind(parts.headers) === 'bounce')) return null
  const key = await keyOf(services, { token, purpose: 'unsubscribe' })
  return key && (await unsubscribeRecipient(services, key)) ? 'unsubscribe' : null
}

/** The only thing that can be said of any mail of ours; the others are about a subscription. */
async function applyReportMail(services: Needs, report: Report, mail: BackchannelMail): Promise<Applied> {
  const token = parseVerp(mail.envelope_to) ?? tokenInReport(report, mail.raw)
  const key = token && (await findMailKey(services, { token, purpose: 'return_path' }, projectFinder(services.database)))
  if (!key) return null
  await applyReport(services, key, report)
  return report.kind
}

const headBytes = 256 * 1024

/** Complaints come to one address for all, with the message they are about; bounces may come to whom a forwarder made of the return path. */
const tokenInReport = ({ original }: Report, raw: Buffer): string | null =>
  findVerp(Object.values(original.headers).join('\n')) ?? findVerp(raw.subarray(0, headBytes).toString('latin1'))

/** A reply that says STOP, to the return path or to the list. To the list it must name or quote a mail, and come from whom that was sent to. */
async function applyReply(services: Needs, mail: BackchannelMail): Promise<Applied> {
  const parts = await readParts(mail.raw)
  if (!parts || mail.envelope_from === '' || !isPersons(parts) || !asksToStop(parts)) return null
  const own = parseVerp(mail.envelope_to)
  const key = own ? await keyOf(services, { token: own, purpose: 'return_path' }) : await keyOfAnswered(services, parts, mail)
  return key && (await unsubscribeRecipient(services, key)) ? 'unsubscribe' : null
}

/** Programs differ in what they keep: some name the mail and quote no link, some quote the links in HTML only, some name nothing. */
async function keyOfAnswered(services: Needs, parts: ReportParts, mail: BackchannelMail): Promise<RecipientKey | null> {
  const writers = [addressIn(fieldOf(parts, 'from')), mail.envelope_from].map(addressKey)
  const isByReader = (recipient: RecipientRow | null) => recipient !== null && writers.includes(addressOf(recipient).key)
  const named = copiesNamed(parts).flatMap((id) => (mail.project_ids ?? []).map((project_id) => ({ project_id, id })))
  const copies = named.length > 0 ? (await findRecipients(services.database, named)).filter(isByReader) : []
  const answered = named.findLast(({ id }) => copies.some((copy) => copy.id === id))
  if (answered) return answered
  for (const token of tokensIn(`${parts.text}\n${parts.html}`)) {
    const key = await keyOf(services, { token, purpose: ['click', 'unsubscribe'] })
    if (key && isByReader(await findRecipient(services.database, key))) return key
  }
  return null
}

const fieldOf = ({ headers }: ReportParts, field: string): string => headers.find(({ name }) => name === field)?.value ?? ''
const addressIn = (from: string): string => /<([^<>]+)>/.exec(from)?.[1] ?? from

/** Message-IDs of ours tell which row they are of. Only the last ones: what is answered stands at the end. */
const maxNames = 20
function copiesNamed(parts: ReportParts): DeliveryId[] {
  const names = `${fieldOf(parts, 'references').slice(-10_000)} ${fieldOf(parts, 'in-reply-to').slice(0, 1_000)}`
  const ids = [...names.matchAll(/(?<![\w.-])(dlv_\w{1,60})@/g)].slice(-maxNames).map(([, id]) => parseId('dlv', id as string))
  return [...new Set(ids.filter((id) => id !== null))]
}

/**
 * A quoted mail has them in its links, one for those that lead away and one for the way out; a letter full of them is no reply to ours.
 * Some receivers' filters have wrapped the links in theirs, encoded.
 */
const maxTokens = 5
const tokensIn = (text: string): string[] =>
  [...text.matchAll(/(?:[/+]|%2[bf])([a-z\d]{52})(?![a-z\d])/gi)]
    .map(([, token]) => (token as string).toLowerCase())
    .filter((token, index, all) => isDeliveryTokenForm(token) && all.indexOf(token) === index)
    .slice(0, maxTokens)

const isPersons = ({ headers }: ReportParts): boolean => automaticKind(headers) === 'none'

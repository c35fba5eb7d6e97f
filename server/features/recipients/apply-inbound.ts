import type { ProjectId } from '../../base/ids.ts'
import { addressKey } from '../../mail/address.ts'
import type { Backchannel, Wish } from '../../mail/reports/read-backchannel.ts'
import type { Report } from '../../mail/reports/report.ts'
import { parseUnsubscribeAddress, parseVerp } from '../../mail/verp.ts'
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
  /** Its words, read in a thread with an end to its time; null where they could not be, or say nothing. */
  content: Backchannel | null
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
  const { report, wish } = mail.content ?? {}
  if (report) return applyReportMail(services, report, mail)
  return wish ? applyReply(services, wish, mail) : null
}

const keyOf = ({ database, secrets }: Needs, shown: Shown): Promise<RecipientKey | null> =>
  findRecipientKey({ secrets }, shown, projectFinder(database))

/**
 * The address says it all, so the mail may be empty, and a program may have written it for somebody. Nothing is ever sent from that
 * address, so nothing can be an answer to it; a bounce there is a stray.
 */
async function applyMailto(services: Needs, token: string, mail: BackchannelMail): Promise<Applied> {
  if (mail.envelope_from === '' || mail.content?.is_bounce) return null
  const key = await keyOf(services, { token, purpose: 'unsubscribe' })
  return key && (await unsubscribeRecipient(services, key)) ? 'unsubscribe' : null
}

/** The only thing that can be said of any mail of ours; the others are about a subscription. */
async function applyReportMail(services: Needs, report: Report, mail: BackchannelMail): Promise<Applied> {
  const token = parseVerp(mail.envelope_to) ?? mail.content?.return_token
  const key = token && (await findMailKey(services, { token, purpose: 'return_path' }, projectFinder(services.database)))
  if (!key) return null
  await applyReport(services, key, report)
  return report.kind
}

/** A reply that says STOP, to the return path or to the list. To the list it must name or quote a mail, and come from whom that was sent to. */
async function applyReply(services: Needs, wish: Wish, mail: BackchannelMail): Promise<Applied> {
  if (mail.envelope_from === '') return null
  const own = parseVerp(mail.envelope_to)
  const key = own ? await keyOf(services, { token: own, purpose: 'return_path' }) : await keyOfAnswered(services, wish, mail)
  return key && (await unsubscribeRecipient(services, key)) ? 'unsubscribe' : null
}

/** Programs differ in what they keep: some name the mail and quote no link, some quote the links in HTML only, some name nothing. */
async function keyOfAnswered(services: Needs, wish: Wish, mail: BackchannelMail): Promise<RecipientKey | null> {
  const writers = [wish.from, mail.envelope_from].map(addressKey)
  const isByReader = (recipient: RecipientRow | null) => recipient !== null && writers.includes(addressOf(recipient).key)
  const named = wish.copies.flatMap((id) => (mail.project_ids ?? []).map((project_id) => ({ project_id, id })))
  const copies = named.length > 0 ? (await findRecipients(services.database, named)).filter(isByReader) : []
  const answered = named.findLast(({ id }) => copies.some((copy) => copy.id === id))
  if (answered) return answered
  for (const token of wish.tokens) {
    const key = await keyOf(services, { token, purpose: ['click', 'unsubscribe'] })
    if (key && isByReader(await findRecipient(services.database, key))) return key
  }
  return null
}

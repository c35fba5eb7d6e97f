import { ApiError, invalid } from '../../base/errors.ts'
import { type EmailId, formatId, newId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { countSingleMail } from '../../delivery/control.ts'
import { type Outcome, returnPathOf, sendNow } from '../../delivery/send-now.ts'
import { publish } from '../../events/publish.ts'
import type { OutgoingMail } from '../../mail/compose.ts'
import type { Context } from '../../operations/context.ts'
import { Answer, defineOperation } from '../../operations/define-operation.ts'
import { type HeldKey, rememberBegun, takeTurn } from '../../operations/idempotency.ts'
import { findProjectNow } from '../agents/index.ts'
import type { MailboxRow } from '../mailboxes/index.ts'
import { bookEmails } from '../payments/index.ts'
import { noteRefusal } from '../recipients/index.ts'
import { findSuppression } from '../suppressions/index.ts'
import { releaseEmails } from '../usage/index.ts'
import { EmailRecord, type EmailRow, emailEventData, NewEmail, toEmailRecord } from './email.ts'
import { findEmail, hasOnlyFailed, settleEmail, upsertEmail } from './email-queries.ts'
import { findSendingMailbox } from './sending-mailbox.ts'

const operation = 'emails.send'

export const sendEmail = defineOperation({
  id: operation,
  method: 'POST',
  path: '/emails',
  scope: 'send',
  mailboxKeys: 'allowed',
  agentMailbox: 'allowed',
  isPayable: true,
  summary: 'Send one e-mail to one recipient, now',
  description:
    'Answers when the outgoing server has taken the mail (201) or refused it (502), or after 30 seconds (502: it may still arrive). With an Idempotency-Key a repeat within 24 hours answers 200 with the first record and sends nothing; after a 502 the same key tries again. An agent without the scope `send` may send from the mailbox that it was given.',
  body: NewEmail,
  bodyLimit: 10 * 1024 * 1024,
  result: EmailRecord,
  status: 201,
  errors: ['limit_exceeded', 'conflict', 'provider_error'],

  async run(context, { body }) {
    const turn = await takeTurn(context, operation)
    if (turn.turn === 'repeat') {
      const email = await recordOf(context, turn.result_id)
      return new Answer(toEmailRecord(asAnswered(email)), { isRepeat: true, receipt: turn.receipt })
    }
    const { key } = turn
    const booked = await orGiveBack(key, book(context, body, key))
    const sent = orGiveBack(key, sendAndSettle(context, booked, key))
    const email = await inTime(context, booked.email, sent)
    return new Answer(toEmailRecord(asAnswered(email)), { receipt: booked.receipt })
  },
})

/** When not even giving it back works, the lease runs out; what went wrong first tells more. */
const orGiveBack = <Result>(key: HeldKey, work: Promise<Result>): Promise<Result> =>
  work.catch(async (error: unknown) => {
    await key.giveBack().catch(() => {})
    throw error
  })

/** Shorter than proxies and clients wait for an answer. */
const answerWithinMs = 30_000

/** What is on its way is settled when the server has answered, whether somebody waits for it or not; until then its key is held. */
async function inTime({ log }: Context, { id }: EmailRow, sent: Promise<EmailRow>): Promise<EmailRow> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.reject(stillUnderWay(id))
    sent.catch((error: Error) => log.info({ email_id: id, reason: error.message }, 'an e-mail failed after its request was answered'))
  }, answerWithinMs)
  return Promise.race([sent, late.promise]).finally(() => clearTimeout(timer))
}

const stillUnderWay = (id: EmailId) =>
  new ApiError(
    'provider_error',
    `The outgoing mail server has not answered within ${answerWithinMs / 1000} s. It may still take this mail: GET /emails/${formatId('eml', id)} tells what becomes of it. A repeat with the same Idempotency-Key sends nothing while this is open, and tries again if it failed; without one, a repeat is a second mail.`,
  )

/** What this request has done: it is sent. That the other server has it, GET tells from the same moment on. */
const asAnswered = (email: EmailRow): EmailRow => (email.status === 'delivered' ? { ...email, status: 'sent' } : email)

async function refuseSuppressed({ database, caller }: Context, { to }: NewEmail): Promise<void> {
  const suppression = await findSuppression(database, caller.project_id, to.key)
  if (!suppression) return
  throw invalid(
    'to',
    `is suppressed (${suppression.reason}): it gets no more mail from this project. DELETE /suppressions/{email} lifts that.`,
  )
}

const maxFailures = 60
const hourMs = 3_600_000

/** Mail that nobody takes is not counted against the plan; without a limit, anybody could fill our disk and annoy the relay with it. */
async function refuseHopeless({ database, clock, caller }: Context, { id }: MailboxRow): Promise<void> {
  const since = new Date(clock.now().getTime() - hourMs)
  if (!(await hasOnlyFailed(database, { project_id: caller.project_id, mailbox_id: id, count: maxFailures, since }))) return
  throw new ApiError(
    'rate_limited',
    `The last ${maxFailures} mails from this mailbox were all refused within the hour. Find out why, and try again later.`,
    {
      headers: { 'retry-after': '600' },
    },
  )
}

const recordOf = async ({ database, caller }: Context, id: string): Promise<EmailRow> => {
  const email = await findEmail(database, { project_id: caller.project_id, id: id as EmailId, mailbox_id: null })
  if (!email) throw new Error('an idempotency key names an e-mail that is gone')
  return email
}

interface Sending {
  mailbox: MailboxRow
  body: NewEmail
  key: HeldKey
  id: EmailId
}

interface Booked {
  mailbox: MailboxRow
  email: EmailRow
  receipt: string | null
}

/** Book and commit; talk; settle and commit. */
async function book(context: Context, body: NewEmail, key: HeldKey): Promise<Booked> {
  const mailbox = await findSendingMailbox(context.database, context.caller, body.from)
  if (body.html === undefined && body.text === undefined) throw invalid('text', 'or html is needed: a mail has at least one of the two')
  await refuseSuppressed(context, body)
  await refuseHopeless(context, mailbox)
  return { mailbox, ...(await bookOnce(context, { mailbox, body, key, id: (key.begun ?? newId<'eml'>()) as EmailId })) }
}

async function sendAndSettle(context: Context, { mailbox, email: booked }: Booked, key: HeldKey): Promise<EmailRow> {
  const { secrets, config } = context
  const { project_id, id } = booked
  const returnPath = returnPathOf({ secrets, mailDomain: config.MAIL_DOMAIN }, { kind: 'email', project_id, id })
  const outcome = await sendNow(context, mailOf(mailbox, booked), returnPath)
  const isRepeatable = context.request.idempotency_key !== null
  const { email, isGivenUp } = await context.database.transaction((tx) => settle(tx, booked, outcome, isRepeatable))
  if (outcome.kind !== 'delivered') throw refused(outcome, isGivenUp)
  await key.finish(email.id)
  return email
}

const mailOf = (mailbox: MailboxRow, booked: EmailRow): OutgoingMail => ({
  from: { name: mailbox.name, address: booked.from_address },
  to: booked.to_address,
  reply_to: booked.reply_to,
  subject: booked.subject,
  text: booked.text_body,
  html: booked.html_body,
  message_id: booked.provider_message_id as string,
  date: booked.created_at,
  headers: {},
})

/** After a crash in the middle of sending, what was booked (and perhaps paid) then still stands: the repeat books nothing new. */
async function bookOnce(context: Context, { mailbox, body, key, id }: Sending): Promise<{ email: EmailRow; receipt: string | null }> {
  const { caller, config, database } = context
  const mail = {
    project_id: caller.project_id,
    id,
    mailbox_id: mailbox.id,
    from_address: mailbox.address,
    to_address: body.to.address,
    to_key: body.to.key,
    reply_to: body.reply_to?.address ?? null,
    subject: body.subject,
    text_body: body.text ?? null,
    html_body: body.html ?? null,
    provider_message_id: `${formatId('eml', id)}@${config.MAIL_DOMAIN}`,
    source_tag: body.tag ?? null,
    metadata: body.metadata ?? {},
  }
  const begun = key.begun === null ? null : await findEmail(database, { project_id: caller.project_id, id, mailbox_id: null })
  const standing = begun?.reservation_id ?? null
  if (standing)
    return { email: await database.transaction((tx) => upsertEmail(tx, { ...mail, reservation_id: standing })), receipt: key.receipt }
  const { result: email, receipt } = await bookEmails(
    context,
    { operation, target: mailbox.address, count: 1 },
    async (tx, reservation_id) => {
      await rememberBegun(tx, context, id)
      return upsertEmail(tx, { ...mail, reservation_id })
    },
  )
  if (receipt !== null) await key.noteReceipt(receipt)
  return { email, receipt }
}

interface SettledEmail {
  email: EmailRow
  /** The answer has shown that nobody is there: the address gets no more mail. */
  isGivenUp: boolean
}

/** What did not leave is not counted: the allowance goes back to where it came from. */
async function settle(tx: Transaction, email: EmailRow, outcome: Outcome, isRepeatable: boolean): Promise<SettledEmail> {
  const { project_id, id, reservation_id } = email
  const isSent = outcome.kind === 'delivered'
  const settled = isSent
    ? ({ status: 'delivered', reservation_id, reason: null } as const)
    : ({ status: 'failed', reservation_id: null, reason: outcome.reason } as const)
  const answer = {
    smtp_code: outcome.smtp_code,
    enhanced_code: isSent ? null : outcome.enhanced_code,
    isSoftBounce: outcome.kind === 'bounced' && outcome.bounce_class === 'soft',
  }
  const isLastWord = (await settleEmail(tx, { project_id, id, ...settled, ...answer, keepsBody: isSent || isRepeatable })) === 1
  // A merge may have taken everything else into another project while this was on its way.
  const home = await findProjectNow(tx, project_id)
  if (!isSent && reservation_id) await releaseEmails(tx, { project_id: home, reservation_id, count: 1 })
  if (isSent) await publish(tx, home, 'email.sent', emailEventData(email))
  // Acceptance is delivery until a bounce says otherwise, and one may have been quicker.
  if (isSent && isLastWord) await publish(tx, home, 'email.delivered', emailEventData(email))
  if (isSent) await countSingleMail(tx, { project_id: home, from: email.from_address, now: tx.now })
  const isGivenUp = outcome.kind === 'bounced' && (await noteRefusal(tx, { project_id: home, email: email.to_address }, outcome))
  return { email: { ...email, ...settled }, isGivenUp }
}

const refused = (outcome: Exclude<Outcome, { kind: 'delivered' }>, isGivenUp: boolean) =>
  new ApiError(
    'provider_error',
    `The outgoing mail server did not take this mail: ${outcome.reason}. It was not counted. ${isGivenUp ? whatNowForAddress : whatNow}`,
    { cause: outcome },
  )
const whatNow = 'Send it again with the same Idempotency-Key: it keeps its Message-ID, by which a copy that did arrive is recognised.'
const whatNowForAddress =
  'The address is suppressed from now on, because nobody is there. When that is wrong, DELETE /suppressions/{email} and send it again.'

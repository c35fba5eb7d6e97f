import { ApiError, invalid } from '../../base/errors.ts'
import { type EmailId, formatId, newId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import type { Outcome } from '../../delivery/send-now.ts'
import { sendNow } from '../../delivery/send-now.ts'
import { publish } from '../../events/publish.ts'
import type { Context } from '../../operations/context.ts'
import { Answer, defineOperation } from '../../operations/define-operation.ts'
import { type HeldKey, rememberBegun, takeTurn } from '../../operations/idempotency.ts'
import { findProjectNow } from '../agents/index.ts'
import type { MailboxRow } from '../mailboxes/index.ts'
import { bookEmails } from '../payments/index.ts'
import { findSuppression } from '../suppressions/index.ts'
import { releaseEmails } from '../usage/index.ts'
import { EmailRecord, type EmailRow, NewEmail, toEmailRecord } from './email.ts'
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
    'Answers when the outgoing server has taken the mail (201) or refused it (502). With an Idempotency-Key a repeat within 24 hours answers 200 with the first record and sends nothing; after a 502 the same key tries again. An agent without the scope `send` may send from the mailbox that it was given.',
  body: NewEmail,
  bodyLimit: 10 * 1024 * 1024,
  result: EmailRecord,
  status: 201,
  errors: ['limit_exceeded', 'conflict', 'provider_error'],

  async run(context, { body }) {
    const turn = await takeTurn(context, operation)
    if (turn.turn === 'repeat') {
      const email = await recordOf(context, turn.result_id)
      return new Answer(toEmailRecord(email), { isRepeat: true, receipt: turn.receipt })
    }
    const { key } = turn
    try {
      const mailbox = await findSendingMailbox(context.database, context.caller, body.from)
      if (body.html === undefined && body.text === undefined) throw invalid('text', 'or html is needed: a mail has at least one of the two')
      await refuseSuppressed(context, body)
      await refuseHopeless(context, mailbox)
      const { email, receipt } = await bookAndSend(context, { mailbox, body, key, id: (key.begun ?? newId<'eml'>()) as EmailId })
      await key.finish(email.id)
      return new Answer(toEmailRecord(email), { receipt })
    } catch (error) {
      // When not even that works, the lease runs out; what went wrong first tells more.
      await key.giveBack().catch(() => {})
      throw error
    }
  },
})

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

/** Book and commit; talk; settle and commit. */
async function bookAndSend(context: Context, sending: Sending): Promise<{ email: EmailRow; receipt: string | null }> {
  const { email: booked, receipt } = await bookOnce(context, sending)
  const outcome = await sendNow(context, {
    from: { name: sending.mailbox.name, address: booked.from_address },
    to: booked.to_address,
    reply_to: booked.reply_to,
    subject: booked.subject,
    text: booked.text_body,
    html: booked.html_body,
    message_id: booked.provider_message_id as string,
    date: booked.created_at,
    headers: {},
  })
  const isRepeatable = context.request.idempotency_key !== null
  const email = await context.database.transaction((tx) => settle(tx, booked, outcome, isRepeatable))
  if (outcome.kind !== 'delivered') throw refused(outcome)
  return { email, receipt }
}

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
  const begun = await findEmail(database, { project_id: caller.project_id, id, mailbox_id: null })
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

/** What did not leave is not counted: the allowance goes back to where it came from. */
async function settle(tx: Transaction, email: EmailRow, outcome: Outcome, isRepeatable: boolean): Promise<EmailRow> {
  const { project_id, id, reservation_id } = email
  const isSent = outcome.kind === 'delivered'
  const settled = isSent
    ? ({ status: 'sent', reservation_id, reason: null } as const)
    : ({ status: 'failed', reservation_id: null, reason: outcome.reason } as const)
  await settleEmail(tx, { project_id, id, ...settled, smtp_code: outcome.smtp_code, keepsBody: isSent || isRepeatable })
  // A merge may have taken everything else into another project while this was on its way.
  const home = await findProjectNow(tx, project_id)
  if (!isSent && reservation_id) await releaseEmails(tx, { project_id: home, reservation_id, count: 1 })
  if (isSent) await publishSent(tx, { ...email, project_id: home })
  return { ...email, ...settled }
}

const publishSent = (tx: Transaction, email: EmailRow): Promise<void> =>
  publish(tx, email.project_id, 'email.sent', {
    email_id: email.id,
    mailbox_id: email.mailbox_id,
    list_id: null,
    post_id: null,
    subscriber_id: null,
    contact_id: null,
    from: email.from_address,
    to: email.to_address,
    subject: email.subject,
    message_id: email.provider_message_id,
    tag: email.source_tag,
    metadata: email.metadata,
  })

const refused = (outcome: Exclude<Outcome, { kind: 'delivered' }>) =>
  new ApiError(
    'provider_error',
    `The outgoing mail server did not take this mail: ${outcome.reason}. It was not counted. Send it again with the same Idempotency-Key: it keeps its Message-ID, by which a copy that did arrive is recognised.`,
    { cause: outcome },
  )

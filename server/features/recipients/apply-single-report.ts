import type { EmailId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import type { Report } from '../../mail/reports/report.ts'
import { type EmailRow, emailEventData } from '../emails/email.ts'
import { drawAllConsequences, drawConsequences, failureOf, findAddressee, followComplaint } from './give-up-address.ts'
import { type LateBounce, lateBounceIn } from './late-bounce.ts'
import { bounceDataOf, type MailKey } from './recipient.ts'
import {
  type ListMessageRow,
  lockEmail,
  lockListMessage,
  lockUnfollowedMessages,
  markMessagesFollowed,
  saveEmailBounce,
  saveEmailComplaint,
  saveMessageBounce,
} from './single-mail-queries.ts'

const complained = 'The recipient reported it as spam'

/** Of a mail that `POST /emails` sent. Once: one that has bounced or was complained about has no other fate. */
export async function applyToEmail(tx: Transaction, key: MailKey & { kind: 'email' }, report: Report): Promise<boolean> {
  const email = await lockEmail(tx, key)
  if (!email || email.status === 'bounced' || email.status === 'complained') return false
  if (report.kind === 'complaint') {
    await saveEmailComplaint(tx, key, complained)
    await publish(tx, email.project_id, 'email.complained', emailEventData({ ...email, status: 'complained', reason: complained }))
    await followComplaint(tx, await findAddressee(tx, email.project_id, email.to_address), report.feedback_type)
    return true
  }
  const bounce = lateBounceIn(report, email.to_address)
  if (bounce) await applyEmailBounce(tx, email, bounce)
  return bounce !== null
}

async function applyEmailBounce(tx: Transaction, email: EmailRow, bounce: LateBounce): Promise<void> {
  await saveEmailBounce(tx, email, bounce)
  await drawConsequences(tx, await findAddressee(tx, email.project_id, email.to_address), { ...bounce, at: tx.now })
  await publish(tx, email.project_id, 'email.bounced', {
    ...emailEventData({ ...email, status: 'bounced', reason: bounce.reason }),
    bounce: bounceDataOf(bounce),
  })
}

/** Of a confirmation mail or a test copy. The ledger of messages knows no complaint: what follows from one is all that is kept. */
export async function applyToMessage(tx: Transaction, key: MailKey & { kind: 'message' }, report: Report): Promise<boolean> {
  const message = await lockListMessage(tx, key)
  if (!message || message.status === 'bounced') return false
  if (report.kind === 'complaint') {
    await followComplaint(tx, message, report.feedback_type)
    return true
  }
  const bounce = lateBounceIn(report, message.email)
  if (!bounce) return false
  await saveMessageBounce(tx, key, bounce)
  await drawConsequences(tx, message, { ...bounce, at: tx.now })
  await tellOfMessage(tx, { ...message, ...bounce })
  return true
}

/** Those that were refused at once. True when there may be more. */
export async function followMessages(tx: Transaction, limit: number): Promise<boolean> {
  const messages = await lockUnfollowedMessages(tx, limit)
  if (messages.length === 0) return false
  await markMessagesFollowed(tx, messages)
  await drawAllConsequences(
    tx,
    messages.map((message) => ({ to: message, failure: failureOf(message, tx.now) })),
  )
  for (const message of messages) await tellOfMessage(tx, message)
  return messages.length === limit
}

/** Whose subscription could not be confirmed is worth knowing; a test copy is nobody's mail. */
async function tellOfMessage(tx: Transaction, message: ListMessageRow): Promise<void> {
  if (message.kind !== 'confirmation') return
  await publish(tx, message.project_id, 'email.bounced', {
    email_id: message.id as string as EmailId,
    mailbox_id: message.mailbox_id,
    list_id: message.list_id,
    post_id: null,
    subscriber_id: message.subscriber_id,
    contact_id: message.contact_id,
    from: message.from_address,
    to: message.email,
    subject: message.subject,
    message_id: null,
    tag: null,
    metadata: {},
    email: null,
    bounce: bounceDataOf(message),
  })
}

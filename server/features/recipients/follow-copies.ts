import type { Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import type { Report } from '../../mail/reports/report.ts'
import { emailEventData } from '../emails/email.ts'
import { releaseEmails } from '../usage/index.ts'
import { type CopyRow, emailOf, forgetBooking, lockCopy, lockUnfollowedCopies, saveAnswerFate, saveForwardFate } from './copy-queries.ts'
import {
  type Addressee,
  drawAllConsequences,
  drawConsequences,
  type Failure,
  failureOf,
  findAddressee,
  followComplaint,
} from './give-up-address.ts'
import { lateBounceIn } from './late-bounce.ts'
import { bounceDataOf, type MailKey } from './recipient.ts'
import { lockEmail, markMessagesFollowed, saveEmailComplaint, saveMessageBounce } from './single-mail-queries.ts'

/** What the sender has settled of the mail that proxy mailboxes pass on. True when there may be more. */
export async function followCopies(tx: Transaction, limit: number): Promise<boolean> {
  const copies = await lockUnfollowedCopies(tx, limit)
  if (copies.length === 0) return false
  await markMessagesFollowed(tx, copies)
  const failed: { copy: CopyRow; to: Addressee; failure: Failure; reservation_id: string | null }[] = []
  for (const copy of copies) {
    const reservation_id = await noteFate(tx, copy)
    if (copy.status === 'delivered') continue
    const to = await findAddressee(tx, copy.project_id, copy.email)
    failed.push({ copy, to, failure: failureOf(copy, tx.now), reservation_id })
  }
  await drawAllConsequences(tx, failed)
  // Last: everybody who sends waits for the month's row.
  for (const { copy, reservation_id } of failed) {
    if (!reservation_id) continue
    await forgetBooking(tx, copy)
    await releaseEmails(tx, { project_id: copy.project_id, reservation_id, count: 1 })
  }
  return copies.length === limit
}

/** A report about one, which may come before the sender's own answer was looked at. Once: what has bounced has no other fate. */
export async function applyToCopy(tx: Transaction, key: MailKey & { kind: 'message' }, report: Report): Promise<boolean> {
  const copy = await lockCopy(tx, key)
  if (!copy || copy.status === 'bounced') return false
  const to = await findAddressee(tx, copy.project_id, copy.email)
  if (report.kind === 'complaint') {
    await noteComplaint(tx, copy)
    await followComplaint(tx, to, report.feedback_type)
    return true
  }
  const bounce = lateBounceIn(report, copy.email)
  if (!bounce) return false
  await saveMessageBounce(tx, key, bounce)
  await noteFate(tx, { ...copy, ...bounce, status: 'bounced' })
  await drawConsequences(tx, to, { ...bounce, at: tx.now })
  return true
}

/** In the e-mail that it carried, if that is still there. Answers what that one had booked. */
async function noteFate(tx: Transaction, copy: CopyRow): Promise<string | null> {
  const email = await lockEmail(tx, emailOf(copy))
  if (!email) return null
  if (copy.kind === 'forward') await saveForwardFate(tx, copy)
  else if (email.status !== 'bounced' && email.status !== 'complained') {
    await saveAnswerFate(tx, copy)
    const { project_id, status, reason } = copy
    if (status === 'delivered') await publish(tx, project_id, 'email.delivered', emailEventData({ ...email, status, reason }))
    if (status === 'bounced')
      await publish(tx, project_id, 'email.bounced', { ...emailEventData({ ...email, status, reason }), bounce: bounceDataOf(copy) })
  }
  return email.reservation_id
}

/** What was passed on to its owner is not the mailbox's own: there the complaint only ends the passing on. */
async function noteComplaint(tx: Transaction, copy: CopyRow): Promise<void> {
  const email = copy.kind === 'proxy_reply' ? await lockEmail(tx, emailOf(copy)) : null
  if (!email || email.status === 'complained') return
  const reason = 'The recipient reported it as spam'
  await saveEmailComplaint(tx, email, reason)
  await publish(tx, copy.project_id, 'email.complained', emailEventData({ ...email, status: 'complained', reason }))
}

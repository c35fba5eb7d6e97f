import type { Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import type { BounceReport, Complaint, Report } from '../../mail/reports/report.ts'
import type { Services } from '../../operations/context.ts'
import { applyToEmail, applyToMessage } from './apply-single-report.ts'
import { applyToCopy } from './follow-copies.ts'
import { drawConsequences, followComplaint } from './give-up-address.ts'
import { lateBounceIn } from './late-bounce.ts'
import { bounceDataOf, type MailKey, type RecipientKey, type RecipientRow, recipientEventData } from './recipient.ts'
import { lockRecipient, moveCount, saveLateBounce, saveLateComplaint } from './recipient-queries.ts'

/**
 * Writes down what came back about one mail, once: a mail that has bounced or was complained about has no other fate, so the second
 * report, or the same one again, changes nothing. True when it was news.
 */
export const applyReport = ({ database }: Pick<Services, 'database'>, key: MailKey, report: Report): Promise<boolean> =>
  database.transaction((tx) => {
    if (key.kind === 'email') return applyToEmail(tx, key, report)
    if (key.kind === 'delivery') return applyToDelivery(tx, key, report)
    return applyToMessage(tx, key, report).then((isNews) => isNews || applyToCopy(tx, key, report))
  })

async function applyToDelivery(tx: Transaction, key: RecipientKey, report: Report): Promise<boolean> {
  const recipient = await lockRecipient(tx, key)
  if (!recipient || recipient.status === 'bounced' || recipient.status === 'complained') return false
  return report.kind === 'bounce' ? applyBounce(tx, recipient, report) : applyComplaint(tx, recipient, report)
}

async function applyBounce(tx: Transaction, recipient: RecipientRow, report: BounceReport): Promise<boolean> {
  const bounce = lateBounceIn(report, recipient.email)
  if (!bounce) return false
  // Whatever the reason: this copy did not arrive. What that means for the address is another question.
  await saveLateBounce(tx, recipient, bounce)
  await drawConsequences(tx, recipient, { ...bounce, at: tx.now })
  await publish(tx, recipient.project_id, 'email.bounced', { ...recipientEventData(recipient), bounce: bounceDataOf(bounce) })
  await moveCount(tx, recipient, { from: recipient.status, to: 'bounced' })
  return true
}

async function applyComplaint(tx: Transaction, recipient: RecipientRow, { feedback_type }: Complaint): Promise<boolean> {
  await saveLateComplaint(tx, recipient, 'The recipient reported it as spam')
  await publish(tx, recipient.project_id, 'email.complained', recipientEventData(recipient))
  await followComplaint(tx, recipient, feedback_type)
  await moveCount(tx, recipient, { from: recipient.status, to: 'complained' })
  return true
}

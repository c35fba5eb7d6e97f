import type { Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import { parseAddress } from '../../mail/address.ts'
import type { BounceClass, BouncedRecipient, BounceReport, Complaint, Report } from '../../mail/reports/report.ts'
import type { Services } from '../../operations/context.ts'
import { unsubscribe } from '../subscribers/index.ts'
import { addSuppression } from '../suppressions/index.ts'
import { addressOf, drawConsequences } from './give-up-address.ts'
import { type RecipientKey, type RecipientRow, recipientEventData } from './recipient.ts'
import { lockRecipient, moveCount, saveLateStatus } from './recipient-queries.ts'
import { wantsEvent } from './wants-event.ts'

/**
 * Writes down what came back about one recipient's copy, once: a copy that has bounced or was complained about has no other fate, so
 * the second report, or the same one again, changes nothing. True when it was news.
 */
export const applyReport = ({ database }: Pick<Services, 'database'>, key: RecipientKey, report: Report): Promise<boolean> =>
  database.transaction(async (tx) => {
    const recipient = await lockRecipient(tx, key)
    if (!recipient || recipient.status === 'bounced' || recipient.status === 'complained') return false
    return report.kind === 'bounce' ? applyBounce(tx, recipient, report) : applyComplaint(tx, recipient, report)
  })

async function applyBounce(tx: Transaction, recipient: RecipientRow, report: BounceReport): Promise<boolean> {
  const failure = failureOf(recipient, report)
  if (!failure) return false
  // Whatever the reason: this copy did not arrive. What that means for the address is another question.
  await saveLateStatus(tx, recipient, { status: 'bounced', enhanced_code: failure.status, reason: failure.reason })
  await drawConsequences(tx, recipient, { class: failure.class, reason: failure.reason, at: tx.now })
  if (await wantsEvent(tx, recipient.project_id, 'email.bounced'))
    await publish(tx, recipient.project_id, 'email.bounced', recipientEventData(recipient))
  await moveCount(tx, recipient, { from: recipient.status, to: 'bounced' })
  return true
}

async function applyComplaint(tx: Transaction, recipient: RecipientRow, { feedback_type }: Complaint): Promise<boolean> {
  const { project_id, list_id, subscriber_id } = recipient
  await saveLateStatus(tx, recipient, { status: 'complained', enhanced_code: null, reason: 'The recipient reported it as spam' })
  await addSuppression(tx, { project_id, email: addressOf(recipient), reason: 'complaint', detail: `Reported as ${feedback_type}` })
  if (await wantsEvent(tx, project_id, 'email.complained')) await publish(tx, project_id, 'email.complained', recipientEventData(recipient))
  await moveCount(tx, recipient, { from: recipient.status, to: 'complained' })
  await unsubscribe(tx, { project_id, list_id, subscriber_id })
  return true
}

const severity: Record<BounceClass, number> = { none: 0, policy: 1, soft: 2, hard: 3 }

/**
 * The return path belongs to one recipient, so the report is about them, whatever address it names: they may have their mail passed
 * on. When it names several others, the mildest counts: one dead address behind a group is not the group's end.
 */
function failureOf(recipient: RecipientRow, { recipients }: BounceReport): BouncedRecipient | null {
  const ours = recipients.filter(({ address }) => address !== null && keyOf(address) === addressOf(recipient).key)
  const about = ours.length > 0 ? ours : recipients
  const failed = about.filter(({ action, class: kind }) => action === 'failed' && kind !== 'none')
  return failed.sort((a, b) => severity[a.class] - severity[b.class])[0] ?? null
}

function keyOf(address: string): string | null {
  const parsed = parseAddress(address)
  return parsed.ok ? parsed.value.key : null
}

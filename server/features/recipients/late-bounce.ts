import { addressKey } from '../../mail/address.ts'
import { smtpCodeIn } from '../../mail/reports/classify.ts'
import type { BounceClass, BouncedRecipient, BounceReport, FailureClass } from '../../mail/reports/report.ts'
import { addressOf } from './give-up-address.ts'

/** What a report says of one mail that did not arrive after all, as the ledgers keep it. */
export interface LateBounce {
  /** Of the server that refused it at last; null when the report does not tell. */
  smtp_code: number | null
  enhanced_code: string | null
  reason: string
  bounce_class: FailureClass
}

const severity: Record<BounceClass, number> = { none: 0, policy: 1, soft: 2, hard: 3 }

/**
 * The return path belongs to one recipient, so the report is about them, whatever address it names: they may have their mail passed
 * on. When it names several others, the mildest counts: one dead address behind a group is not the group's end. Null when nothing failed.
 */
export function lateBounceIn({ recipients }: BounceReport, email: string): LateBounce | null {
  const ours = recipients.filter(({ address }) => addressKey(address) === addressOf({ email }).key)
  const about = ours.length > 0 ? ours : recipients
  const [mildest] = about.filter(hasFailed).sort((a, b) => severity[a.class] - severity[b.class])
  if (!mildest) return null
  const { status: enhanced_code, reason, class: bounce_class, diagnostic } = mildest
  return { smtp_code: Number(smtpCodeIn(diagnostic ?? '')) || null, enhanced_code, reason, bounce_class }
}

const hasFailed = (recipient: BouncedRecipient): recipient is BouncedRecipient & { class: FailureClass } =>
  recipient.action === 'failed' && recipient.class !== 'none'

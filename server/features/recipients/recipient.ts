import {
  type BroadcastId,
  type ContactId,
  type DeliveryId,
  type EmailId,
  formatId,
  type ListId,
  type MailboxId,
  type MessageId,
  type PostId,
  type ProjectId,
  type SubscriberId,
} from '../../base/ids.ts'
import type { EventData } from '../../events/catalogue.ts'
import type { FailureClass } from '../../mail/reports/report.ts'

/** Somebody whom a broadcast was sent to: the token in their copy names this row of the ledger, and with it the subscription. */
export interface RecipientKey {
  project_id: ProjectId
  id: DeliveryId
}

/** The mail that a token stands in, which is not always a copy of a broadcast. */
export type MailKey =
  | ({ kind: 'delivery' } & RecipientKey)
  | { kind: 'email'; project_id: ProjectId; id: EmailId }
  | { kind: 'message'; project_id: ProjectId; id: MessageId }

/** queued ⇄ sending → delivered, bounced or failed. What comes back later: delivered → bounced, delivered → complained. */
export type RecipientStatus = 'queued' | 'sending' | 'delivered' | 'bounced' | 'failed' | 'complained'

export interface RecipientRow extends RecipientKey {
  broadcast_id: BroadcastId
  list_id: ListId
  post_id: PostId
  subscriber_id: SubscriberId
  contact_id: ContactId
  email: string
  status: RecipientStatus
  smtp_code: number | null
  enhanced_code: string | null
  reason: string | null
  /** What the failure says of the address; null when nothing failed, or it says nothing. */
  bounce_class: FailureClass | null
  settled_at: Date | null
  /** Null when the list is gone. */
  mailbox_id: MailboxId | null
  from_address: string
  subject: string
  message_id_domain: string
}

/** What every email.* event of a recipient carries. */
export const recipientEventData = (row: RecipientRow) => ({
  email_id: row.id as string as EmailId,
  mailbox_id: row.mailbox_id,
  list_id: row.list_id,
  post_id: row.post_id,
  subscriber_id: row.subscriber_id,
  contact_id: row.contact_id,
  from: row.from_address,
  to: row.email,
  subject: row.subject,
  message_id: `${formatId('dlv', row.id)}@${row.message_id_domain}`,
  tag: null,
  metadata: {},
  email: null,
})

interface Bounced {
  bounce_class: FailureClass | null
  smtp_code: number | null
  enhanced_code: string | null
  reason: string | null
}

/** As email.bounced tells it. What a receiver has against the sender or the message may pass, too. */
export const bounceDataOf = ({ bounce_class, smtp_code, enhanced_code, reason }: Bounced): EventData<'email.bounced'>['bounce'] => ({
  kind: bounce_class === 'hard' ? 'hard' : 'soft',
  smtp_code,
  enhanced_code,
  reason,
})

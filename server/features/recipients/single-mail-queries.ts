import type { ContactId, EmailId, ListId, MailboxId, MessageId, ProjectId, SubscriberId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import type { FailureClass } from '../../mail/reports/report.ts'
import type { EmailRow } from '../emails/email.ts'
import type { LateBounce } from './late-bounce.ts'

interface EmailKey {
  project_id: ProjectId
  id: EmailId
}

/** Two reports about one mail take turns. */
export const lockEmail = (tx: Transaction, { project_id, id }: EmailKey) => tx.first<EmailRow>`
  select * from emails where project_id = ${project_id} and id = ${id} for update`

/** What came back is the last word: whoever is still sending finds nothing to settle. The yes of then is no answer any more. */
export const saveEmailBounce = (tx: Transaction, { project_id, id }: EmailKey, bounce: LateBounce) => tx.run`
  update emails set status = 'bounced', smtp_code = ${bounce.smtp_code}, enhanced_code = ${bounce.enhanced_code},
    reason = ${bounce.reason}, is_soft_bounce = ${bounce.bounce_class === 'soft'}, updated_at = ${tx.now}
  where project_id = ${project_id} and id = ${id}`

/** It did arrive: the other server's yes stands. */
export const saveEmailComplaint = (tx: Transaction, { project_id, id }: EmailKey, reason: string) => tx.run`
  update emails set status = 'complained', enhanced_code = null, reason = ${reason}, is_soft_bounce = false, updated_at = ${tx.now}
  where project_id = ${project_id} and id = ${id}`

/** A mail that the program wrote on behalf of a list, and who it was for, as far as they are still there. */
export interface ListMessageRow {
  project_id: ProjectId
  id: MessageId
  kind: string
  list_id: ListId
  mailbox_id: MailboxId | null
  subscriber_id: SubscriberId | null
  contact_id: ContactId | null
  email: string
  from_address: string
  subject: string
  status: 'queued' | 'sending' | 'delivered' | 'bounced' | 'failed'
  smtp_code: number | null
  enhanced_code: string | null
  bounce_class: FailureClass | null
  reason: string | null
  settled_at: Date | null
}

const columns = sql`
  m.project_id, m.id, m.kind, m.list_id, l.mailbox_id, s.id as subscriber_id, c.id as contact_id, m.recipient as email,
  coalesce(m.mail->'from'->>'address', '') as from_address, coalesce(m.mail->>'subject', '') as subject, m.status,
  m.smtp_code, m.enhanced_code, m.bounce_class, m.reason, m.settled_at`
const whomItWasFor = sql`
  left join lists l on l.project_id = m.project_id and l.id = m.list_id and l.deleted_at is null
  left join contacts c on c.project_id = m.project_id and c.email_key = m.recipient_key
  left join subscribers s on s.project_id = m.project_id and s.list_id = m.list_id and s.email_key = m.recipient_key`

/** Codes and invitations to accounts are not among them: those are between the installation and a person, whatever lists there are. */
export const lockListMessage = (tx: Transaction, { project_id, id }: { project_id: ProjectId; id: MessageId }) => tx.first<ListMessageRow>`
  select ${columns} from messages m ${whomItWasFor}
  where m.project_id = ${project_id} and m.id = ${id} and m.list_id is not null for update of m`

/** Refused at once, and not looked at since. */
export const lockUnfollowedMessages = (tx: Transaction, limit: number) => tx.many<ListMessageRow>`
  with unfollowed as materialized (
    select * from messages where status = 'bounced' and list_id is not null and followed_at is null
    order by settled_at limit ${limit} for update skip locked
  )
  select ${columns} from unfollowed m ${whomItWasFor} order by m.settled_at, m.id`

export const markMessagesFollowed = (tx: Transaction, messages: Pick<ListMessageRow, 'project_id' | 'id'>[]) => tx.run`
  update messages m set followed_at = ${tx.now}
  from unnest(${messages.map((one) => one.project_id)}::uuid[], ${messages.map((one) => one.id)}::uuid[]) as followed (project_id, id)
  where m.project_id = followed.project_id and m.id = followed.id`

export const saveMessageBounce = (
  tx: Transaction,
  { project_id, id }: { project_id: ProjectId; id: MessageId },
  bounce: LateBounce,
) => tx.run`
  update messages set status = 'bounced', smtp_code = ${bounce.smtp_code}, enhanced_code = ${bounce.enhanced_code}, reason = ${bounce.reason},
    bounce_class = ${bounce.bounce_class},    settled_at = coalesce(settled_at, ${tx.now}), followed_at = ${tx.now}
  where project_id = ${project_id} and id = ${id}`

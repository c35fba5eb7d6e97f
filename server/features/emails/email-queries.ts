import type { EmailId, MailboxId, ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import type { EmailRow } from './email.ts'

/** `mailbox_id` narrows it to one mailbox, for a key that reaches no further. */
export const findEmail = (db: Queryable, key: { project_id: ProjectId; id: EmailId; mailbox_id: MailboxId | null }) => db.first<EmailRow>`
  select * from emails where project_id = ${key.project_id} and id = ${key.id}
    ${key.mailbox_id === null ? nothing : sql`and mailbox_id = ${key.mailbox_id}`}`

/** A repeat of one that failed is the same mail, sent once more. */
export const upsertEmail = async (tx: Transaction, email: Omit<EmailRow, 'created_at' | 'status' | 'reason'>): Promise<EmailRow> => {
  const [row] = await tx.many<EmailRow>`
    insert into emails (project_id, id, mailbox_id, from_address, to_address, to_key, reply_to, subject, text_body, html_body,
      status, provider_message_id, source_tag, metadata, reservation_id, created_at, updated_at)
    values (${email.project_id}, ${email.id}, ${email.mailbox_id}, ${email.from_address}, ${email.to_address}, ${email.to_key},
      ${email.reply_to}, ${email.subject}, ${email.text_body}, ${email.html_body}, 'sending', ${email.provider_message_id},
      ${email.source_tag}, ${JSON.stringify(email.metadata)}, ${email.reservation_id}, ${tx.now}, ${tx.now})
    on conflict (project_id, id) do update set status = 'sending', reservation_id = excluded.reservation_id, updated_at = ${tx.now}
    returning *`
  return row! // insert or update, one row comes back
}

interface Settled {
  project_id: ProjectId
  id: EmailId
  status: EmailRow['status']
  reservation_id: string | null
  smtp_code: number | null
  reason: string | null
}

export const settleEmail = (tx: Transaction, settled: Settled) => tx.run`
  update emails set status = ${settled.status}, reservation_id = ${settled.reservation_id}, smtp_code = ${settled.smtp_code}, reason = ${settled.reason}, updated_at = ${tx.now}
  where project_id = ${settled.project_id} and id = ${settled.id}`

/** Nobody waits for these any more: the process that was sending them is gone. */
export const failInterruptedEmails = (db: Queryable, before: Date) => db.run`
  update emails set status = 'failed', reason = 'Interrupted while it was being sent; it may or may not have arrived.'
  where status = 'sending' and updated_at < ${before}`

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
  enhanced_code: string | null
  reason: string | null
  isSoftBounce: boolean
  keepsBody: boolean
}

/** `keepsBody`: the same mail may be asked for once more. No row changes when a bounce was quicker: what came back is the last word. */
export const settleEmail = (tx: Transaction, settled: Settled) => tx.run`
  update emails set status = ${settled.status}, reservation_id = ${settled.reservation_id}, smtp_code = ${settled.smtp_code},
    enhanced_code = ${settled.enhanced_code}, reason = ${settled.reason}, is_soft_bounce = ${settled.isSoftBounce}, updated_at = ${tx.now},
    text_body = case when ${settled.keepsBody}::boolean then text_body end, html_body = case when ${settled.keepsBody}::boolean then html_body end
  where project_id = ${settled.project_id} and id = ${settled.id} and status not in ('bounced', 'complained')`

/** Whether the last so many mails of a mailbox all failed since then. */
export const hasOnlyFailed = async (db: Queryable, { project_id, mailbox_id, count, since }: FailureLimit): Promise<boolean> => {
  const failed = await db.first<{ count: number }>`
    select count(*) as count from (
      select status, created_at from emails where project_id = ${project_id} and mailbox_id = ${mailbox_id} order by id desc limit ${count}) newest
    where status = 'failed' and created_at > ${since}`
  return (failed?.count ?? 0) >= count
}

interface FailureLimit {
  project_id: ProjectId
  mailbox_id: MailboxId
  count: number
  since: Date
}

/** What failed yesterday will not be asked for again under its key: its words need not be kept. */
export const emptyFailedEmails = (db: Queryable, before: Date) => db.run`
  update emails set text_body = null, html_body = null
  where status = 'failed' and updated_at < ${before} and (text_body is not null or html_body is not null)`

/** Nobody waits for these any more: the process that was sending them is gone. */
export const failInterruptedEmails = (db: Queryable, before: Date) => db.run`
  update emails set status = 'failed', reason = 'Interrupted while it was being sent; it may or may not have arrived.'
  where status = 'sending' and updated_at < ${before}`

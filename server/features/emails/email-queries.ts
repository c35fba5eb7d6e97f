import type { EmailId, MailboxId, ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { type Fragment, nothing, sql } from '../../database/sql.ts'
import { addressHash, type SuppressionRow } from '../suppressions/suppression.ts'
import type { EmailRow } from './email.ts'

/** One that was sent. `mailbox_id` narrows it to one mailbox, for a key that reaches no further. */
export const findEmail = (db: Queryable, key: { project_id: ProjectId; id: EmailId; mailbox_id: MailboxId | null }) => db.first<EmailRow>`
  select * from emails where project_id = ${key.project_id} and id = ${key.id} and direction = 'outbound'
    ${key.mailbox_id === null ? nothing : sql`and mailbox_id = ${key.mailbox_id}`}`

/** One that is to be sent; what it has become is told by the row that it is written to. */
export type UnsentEmail = Omit<EmailRow, 'created_at' | 'status' | 'reason' | 'contact_id'>

/** A repeat of one that failed is the same mail, sent once more. */
export const upsertEmail = async (tx: Transaction, email: UnsentEmail): Promise<EmailRow> => {
  const [row] = await tx.many<EmailRow>`
    insert into emails (project_id, id, mailbox_id, from_address, to_address, to_key, reply_to, subject, text_body, html_body,
      status, provider_message_id, message_id, source_tag, metadata, reservation_id, from_name, in_reply_to, reference_ids, thread_id, tags,
      contact_id, created_at, updated_at)
    values (${email.project_id}, ${email.id}, ${email.mailbox_id}, ${email.from_address}, ${email.to_address}, ${email.to_key},
      ${email.reply_to}, ${email.subject}, ${email.text_body}, ${email.html_body}, 'sending', ${email.provider_message_id},
      ${email.provider_message_id}, ${email.source_tag}, ${JSON.stringify(email.metadata)}, ${email.reservation_id}, ${email.from_name},
      ${email.in_reply_to}, ${email.reference_ids}, ${email.thread_id}, ${email.tags && JSON.stringify(email.tags)},
      (select id from contacts where project_id = ${email.project_id} and email_key = ${email.to_key}), ${tx.now}, ${tx.now})
    on conflict (project_id, id) do update set status = 'sending', reservation_id = excluded.reservation_id, updated_at = ${tx.now}
    returning *`
  return row! // insert or update, one row comes back
}

interface Failed {
  project_id: ProjectId
  id: EmailId
  smtp_code: number | null
  enhanced_code: string | null
  reason: string
  isSoftBounce: boolean
  keepsBody: boolean
}

/** `keepsBody`: the same mail may be asked for once more. What came back meanwhile is the last word. */
export const settleFailed = (tx: Transaction, failed: Failed) => tx.run`
  update emails set status = 'failed', reservation_id = null, smtp_code = ${failed.smtp_code}, enhanced_code = ${failed.enhanced_code},
    reason = ${failed.reason}, is_soft_bounce = ${failed.isSoftBounce}, position = null, updated_at = ${tx.now},
    text_body = case when ${failed.keepsBody}::boolean then text_body end, html_body = case when ${failed.keepsBody}::boolean then html_body end
  where project_id = ${failed.project_id} and id = ${failed.id} and status not in ('bounced', 'complained')`

/** Whether it has not been settled as taken; until the end of the transaction nobody else does so. What settles gives it a place. */
export const lockUnsettled = async (tx: Transaction, { project_id, id }: Pick<EmailRow, 'project_id' | 'id'>): Promise<boolean> => {
  const email = await tx.first<{ is_settled: boolean }>`
    select position is not null or status not in ('sending', 'failed', 'bounced', 'complained') as is_settled
    from emails where project_id = ${project_id} and id = ${id} for update`
  return email?.is_settled === false
}

/** The mail that this one answers, when it came in to the same mailbox. What was archived stays there. */
export const markParentReplied = (tx: Transaction, project_id: ProjectId, { mailbox_id, in_reply_to }: EmailRow) => tx.run`
  update emails set status = 'replied', updated_at = ${tx.now}
  where project_id = ${project_id} and mailbox_id = ${mailbox_id} and message_id = ${in_reply_to} and direction = 'inbound'
    and status in ('received', 'read')`

interface Question {
  project_id: ProjectId
  mailbox_id: MailboxId
  to_key: string
}

export interface Hindrances {
  suppressed_for: SuppressionRow['reason'] | null
  /** Worth a longer look (`hasOnlyFailed`). */
  has_failed_last: boolean | null
}

type Value = ProjectId | MailboxId | Buffer | Fragment

export const suppressedFor = (project_id: Value, address_hash: Value): Fragment =>
  sql`(select s.reason from suppressions s where s.project_id = ${project_id} and s.address_hash = ${address_hash}) as suppressed_for`

export const hasFailedLast = (project_id: Value, mailbox_id: Value): Fragment => sql`(
  select e.status = 'failed' from emails e where e.project_id = ${project_id} and e.mailbox_id = ${mailbox_id} and e.direction = 'outbound'
  order by e.id desc limit 1) as has_failed_last`

/** What may stand against a mail, in one look. */
export const findHindrances = async (db: Queryable, { project_id, mailbox_id, to_key }: Question): Promise<Hindrances> =>
  (await db.first<Hindrances>`
    select ${suppressedFor(project_id, addressHash(project_id, to_key))}, ${hasFailedLast(project_id, mailbox_id)}`) as Hindrances // a select without a table answers one row

/** Whether the last so many mails of a mailbox all failed since then. */
export const hasOnlyFailed = async (db: Queryable, { project_id, mailbox_id, count, since }: FailureLimit): Promise<boolean> => {
  const failed = await db.first<{ count: number }>`
    select count(*) as count from (
      select status, created_at from emails
      where project_id = ${project_id} and mailbox_id = ${mailbox_id} and direction = 'outbound' order by id desc limit ${count}) newest
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

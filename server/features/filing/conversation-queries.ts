import type { EmailId, MailboxId, ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'

export interface MailName {
  project_id: ProjectId
  message_id: string
}

export interface EmailKey {
  project_id: ProjectId
  id: EmailId
}

/** A mail that another one names. */
export interface RelatedMail extends EmailKey {
  mailbox_id: MailboxId
  direction: 'inbound' | 'outbound'
  message_id: string | null
  thread_id: string | null
  source_tag: string | null
  metadata: Record<string, string>
}

/** By what they are called, or by an id of ours that the name is made of. Strangers may call any number of mails the same: some will do. */
export const findRelated = (db: Queryable, names: MailName[], emails: EmailKey[]) => db.many<RelatedMail>`
  select ${columns}
  from (select distinct * from unnest(${names.map(({ project_id }) => project_id)}::uuid[], ${names.map(({ message_id }) => message_id)}::text[])) name (project_id, message_id)
  cross join lateral (select * from emails where project_id = name.project_id and message_id = name.message_id limit 20) e
  union
  select ${columns} from emails e
  where (project_id, id) in (
    select * from unnest(${emails.map(({ project_id }) => project_id)}::uuid[], ${emails.map(({ id }) => id)}::uuid[]))`

const columns = sql`e.project_id, e.id, e.mailbox_id, e.direction, e.message_id, e.thread_id, e.source_tag, e.metadata`

export interface RecentMail extends Pick<RelatedMail, 'id' | 'direction' | 'source_tag' | 'metadata'> {
  subject: string | null
  status: string
  from_address: string
  to_key: string
  thread_id: string
}

/** A look at what is on top of the mailbox: a conversation that went on without naming its mails is not far down. */
export const newestWith = (db: Queryable, box: { project_id: ProjectId; mailbox_id: MailboxId; since: Date }) => db.many<RecentMail>`
  select id, subject, direction, status, from_address, to_key, thread_id, source_tag, metadata from (
    select * from emails where project_id = ${box.project_id} and mailbox_id = ${box.mailbox_id} order by id desc limit 200) newest
  where thread_id is not null and created_at > ${box.since}
  order by id desc`

export const beginThreads = (tx: Transaction, emails: EmailKey[]) => tx.run`
  update emails set thread_id = id
  where thread_id is null and (project_id, id) in (
    select * from unnest(${emails.map(({ project_id }) => project_id)}::uuid[], ${emails.map(({ id }) => id)}::uuid[]))`

/** What came back as a bounce or a complaint stays that, whatever else somebody wrote. */
export const markReplied = (tx: Transaction, emails: EmailKey[]) => tx.run`
  update emails set status = 'replied', updated_at = ${tx.now}
  where direction = 'outbound' and status in ('sent', 'delivered') and (project_id, id) in (
    select * from unnest(${emails.map(({ project_id }) => project_id)}::uuid[], ${emails.map(({ id }) => id)}::uuid[]))`

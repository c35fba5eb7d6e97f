import type { EmailId, ThreadId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import type { BoxKey } from './inbox-queries.ts'

export interface ThreadRow {
  thread_id: ThreadId
  subject: string | null
  participants: string[]
  count: number
  unread: number
  last_email_id: EmailId
  last_at: Date
}

const isPart = sql`status not in ('sending', 'failed')`

/** People of a conversation are looked for among its newest mails: some have thousands, by programs. */
const newestLooked = 200

/** Walks the mailbox from its newest mail and takes each that has none after it in its thread, until the page is full. */
export function pageThreads(
  db: Queryable,
  { project_id, mailbox_id, before, limit }: BoxKey & { before: string | null; limit: number },
): Promise<ThreadRow[]> {
  const inThread = sql`project_id = ${project_id} and mailbox_id = ${mailbox_id} and thread_id = n.thread_id and ${isPart}`
  return db.many<ThreadRow>`
    with newest as materialized (
      select e.id, e.thread_id, e.created_at from emails e
      where e.project_id = ${project_id} and e.mailbox_id = ${mailbox_id} and e.thread_id is not null and e.${isPart}
        ${before === null ? nothing : sql`and e.id < ${before}`}
        and not exists (
          select 1 from emails later
          where later.project_id = ${project_id} and later.mailbox_id = ${mailbox_id} and later.thread_id = e.thread_id and later.id > e.id
            and later.${isPart})
      order by e.id desc limit ${limit})
    select n.thread_id, n.id as last_email_id, n.created_at as last_at, counts.*,
      (select subject from emails where ${inThread} order by id limit 1) as subject,
      array(
        select address from (
          select distinct on (address) address, id
          from (select id, from_address, to_address from emails where ${inThread} order by id desc limit ${newestLooked}) mail
            cross join lateral (values (from_address), (to_address)) as named (address)
          order by address, id desc) people
        order by id desc, address limit 20) as participants
    from newest n cross join lateral (
      select count(*) as count, count(*) filter (where status = 'received') as unread from emails where ${inThread}) counts
    order by n.id desc`
}

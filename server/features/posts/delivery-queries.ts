import type { Queryable } from '../../database/database.ts'
import { type Fragment, nothing, sql } from '../../database/sql.ts'
import type { DeliveryRow, DeliveryStatus } from './delivery.ts'
import type { PostKey } from './post-queries.ts'

/** Written out, so that the index of the few that went wrong can be used. */
const withStatus: Record<DeliveryStatus, Fragment> = {
  queued: sql`and d.status = 'queued'`,
  sending: sql`and d.status = 'sending'`,
  delivered: sql`and d.status = 'delivered'`,
  bounced: sql`and d.status = 'bounced'`,
  failed: sql`and d.status = 'failed'`,
  complained: sql`and d.status = 'complained'`,
}

interface DeliveryFilter extends PostKey {
  status?: DeliveryStatus | undefined
  /** The last subscriber of the page before. */
  after: string | null
  limit: number
}

/** Of the newest broadcast of a post, in the order of its subscribers: the unique key of the ledger, so that no page is sorted. */
export const pageDeliveries = (db: Queryable, filter: DeliveryFilter) => db.many<DeliveryRow>`
  select d.id, d.subscriber_id, d.email, d.status, d.attempts, d.smtp_code, d.enhanced_code, d.reason, d.sent_at, d.settled_at, d.opened_at,
    d.open_count, d.click_count
  from deliveries d
  where d.project_id = ${filter.project_id} and d.broadcast_id = (
      select broadcast_id from posts
      where project_id = ${filter.project_id} and list_id = ${filter.list_id} and id = ${filter.post_id})
    ${filter.status === undefined ? nothing : withStatus[filter.status]}
    ${filter.after === null ? nothing : sql`and d.subscriber_id > ${filter.after}`}
  order by d.subscriber_id limit ${filter.limit}`

/**
 * Those of whom it was given up, and who are still subscribed and do not pause. Each looked up by its whole key: a join would be planned by
 * statistics that a list which was imported a minute ago does not have.
 */
export async function countRetryable(db: Queryable, key: PostKey, now: Date): Promise<number> {
  const counted = await db.first<{ count: number }>`
    select count(*) as count from deliveries d
    where d.project_id = ${key.project_id} and d.status = 'failed' and d.broadcast_id = (
        select broadcast_id from posts where project_id = ${key.project_id} and list_id = ${key.list_id} and id = ${key.post_id})
      and (select s.status = 'active' and (s.paused_until is null or s.paused_until <= ${now}) from subscribers s
        where s.project_id = ${key.project_id} and s.list_id = ${key.list_id} and s.id = d.subscriber_id)`
  return counted?.count ?? 0
}

/** What an idempotency key remembers of a retry. */
export const findRetry = (db: Queryable, { project_id, post_id }: PostKey, id: string) => db.first<{ retried: number }>`
  select retried from broadcasts where project_id = ${project_id} and post_id = ${post_id} and id = ${id}`

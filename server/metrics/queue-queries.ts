import type { Queryable } from '../database/database.ts'

/** What waits somewhere. */
export interface Queue {
  queue: string
  waiting: number
  /** Since when the oldest of them does; null when nothing waits, or nobody knows. */
  oldest: Date | null
  /** When the first of them should have begun, or is to begin; null where that is not asked. */
  due: Date | null
}

/**
 * No more are counted, and only along an index that has nothing but what waits: a table of millions costs no more than a small one. The order
 * of that index is asked for, so that no other way of counting is thought of.
 */
export const mostCounted = 10_000

export const readMessages = (db: Queryable) => db.many<Queue>`
  select 'messages' as queue, count(*) as waiting, min(created_at) as oldest, min(next_attempt_at) as due
  from (
    select created_at, next_attempt_at from messages where status in ('queued', 'sending') order by next_attempt_at limit ${mostCounted}
  ) waiting`

export const readSpool = (db: Queryable) => db.many<Queue>`
  select 'inbound_spool' as queue, count(*) as waiting, min(received_at) as oldest, min(next_attempt_at) as due
  from (
    select received_at, next_attempt_at from inbound_spool where next_attempt_at is not null order by next_attempt_at limit ${mostCounted}
  ) waiting`

/** By the counts that the broadcasts keep. How old the oldest is, is how long ago its post was sent off: a delivery has no time of its own. */
export const readBroadcasts = (db: Queryable) => db.many<Queue>`
  select 'deliveries' as queue, coalesce(sum(waiting), 0)::bigint as waiting, min(created_at) filter (where waiting > 0) as oldest, null as due
  from (
    select created_at, case when is_expanded then expanded else greatest(recipients, expanded) end
      - delivered - bounced - failed - complained as waiting
    from broadcasts where status = 'sending' order by created_at limit ${mostCounted}
  ) sending`

/** Of them, what somebody has claimed to send it. */
export const readSending = (db: Queryable) => db.many<Queue>`
  select 'deliveries_sending' as queue, count(*) as waiting, null as oldest, null as due
  from (select from deliveries where status = 'sending' order by lease_owner limit ${mostCounted}) sending`

export const readWebhooks = (db: Queryable) => db.many<Queue>`
  select 'webhook_deliveries' as queue, count(*) as waiting, min(created_at) as oldest,
    (select min(due_at) from webhook_queues where due_at is not null) as due
  from (
    select created_at from webhook_deliveries where status = 'pending' order by project_id, webhook_id, id limit ${mostCounted}
  ) waiting
  union all
  select 'webhook_masses', coalesce(sum((item_count - next_item)::bigint * cardinality(webhooks)), 0)::bigint, min(created_at), null
  from webhook_masses`

export const readJobs = (db: Queryable) => db.many<Queue>`
  select 'jobs' as queue, count(*) as waiting, min(created_on) as oldest, min(start_after) as due
  from (
    select created_on, start_after from jobs.job where state < 'active' and not blocked
    order by name, priority desc, created_on limit ${mostCounted}
  ) waiting`

/** How far the consumers of the event log are behind. */
export const readConsumers = (db: Queryable) => db.many<Queue>`
  select 'consumer ' || c.name as queue, unread.waiting, unread.oldest, null as due
  from event_consumers c cross join lateral (
    select coalesce(sum(item_count), 0)::bigint as waiting, min(created_at) as oldest
    from (
      select item_count, created_at from events e where (e.transaction_id, e.position) > (c.transaction_id, c.position)
      order by e.transaction_id, e.position limit ${mostCounted}
    ) next_rows
  ) unread
  order by c.name`

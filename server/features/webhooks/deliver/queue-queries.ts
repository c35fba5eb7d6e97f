import type { ProjectId, WebhookDeliveryId, WebhookId } from '../../../base/ids.ts'
import { wake } from '../../../base/wake.ts'
import type { Queryable, Transaction } from '../../../database/database.ts'
import { type Fragment, nothing, sql } from '../../../database/sql.ts'
import type { WebhookRow } from '../webhook.ts'
import type { WebhookKey } from '../webhook-queries.ts'

/**
 * The queue of a webhook: idle (nothing is due) → due → leased by one process → due at its next attempt, or idle. A process that dies leaves a
 * lease that runs out; by then `due_at` is past, and anybody takes the queue up. What was being sent at that moment is sent again under the
 * same delivery id.
 */
export interface LeasedQueue extends WebhookKey {
  filed: number
}

/** Something may be due now: a delivery was added, or the webhook is back at work. */
export async function rouseQueue(tx: Transaction, { project_id, webhook_id }: WebhookKey): Promise<void> {
  await tx.run`
    insert into webhook_queues as q (project_id, webhook_id, due_at, filed) values (${project_id}, ${webhook_id}, now(), 1)
    on conflict (project_id, webhook_id) do update set ${addedTo}`
  tellOfChange(tx, webhook_id)
}

/** Whoever sends to it looks again before the next request; in another process, within half a second. */
export const tellOfChange = (tx: Transaction, webhook_id: WebhookId): void => tx.afterCommit(() => wake('webhooks', webhook_id))

/** To a queue that somebody has leased, it is enough to say that there is more. */
export const addedTo = sql`filed = q.filed + 1, due_at = case when q.lease_owner is null then now() else q.due_at end`

/** Nothing that waits is sent any more: it ends as failed, in pieces, when somebody takes the queue up. */
export async function endQueue(tx: Transaction, { project_id, webhook_id }: WebhookKey): Promise<void> {
  await tx.run`
    insert into webhook_queues as q (project_id, webhook_id, due_at, filed, ends_until) values (${project_id}, ${webhook_id}, now(), 1, ${lastIdNow})
    on conflict (project_id, webhook_id) do update set ${addedTo}, ends_until = excluded.ends_until`
  tellOfChange(tx, webhook_id)
}

/** The first half of a UUIDv7, by the database's clock. */
export const timeOfId = sql`lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0')`

/** Of two ids with the same time, the greater `place` (26 bits) makes the greater one. */
export const orderedId = (time: Fragment, place: Fragment) =>
  sql`(${time} || to_hex(28672 + (${place} >> 14)) || to_hex(32768 + (${place} & 16383)) || right(gen_random_uuid()::text, 12))::uuid`

/** No delivery that is filed from now on has a smaller id. */
const lastIdNow = sql`(${timeOfId} || '7fffbfffffffffffffff')::uuid`

export async function removeQueue(tx: Transaction, { project_id, webhook_id }: WebhookKey): Promise<void> {
  await tx.run`delete from webhook_queues where project_id = ${project_id} and webhook_id = ${webhook_id}`
  tellOfChange(tx, webhook_id)
}

export interface Lease {
  owner: string
  leaseMs: number
}

const leaseEnd = (leaseMs: number) => sql`now() + ${leaseMs}::integer * interval '1 millisecond'`

interface Claiming {
  most: number
  now: Date
  /** Also queues of others whose leases have run out. */
  takesOver: boolean
}

/** Leases end by the database's clock alone, which all processes share; when an attempt is due, our own may say as well. */
export const claimQueues = (db: Queryable, { owner, leaseMs }: Lease, { most, now, takesOver }: Claiming) => db.many<LeasedQueue>`
  update webhook_queues q set lease_owner = ${owner}, due_at = ${leaseEnd(leaseMs)}
  from (
    select project_id, webhook_id from webhook_queues
    where due_at <= greatest(now(), ${now}::timestamptz) and (lease_owner is null ${takesOver ? sql`or due_at <= now()` : nothing})
    order by due_at limit ${most} for update skip locked
  ) due
  where q.project_id = due.project_id and q.webhook_id = due.webhook_id
  returning q.project_id, q.webhook_id, q.filed`

/** Answers what is still ours: a process that slept for longer than a lease has lost some. */
export const renewLeases = (db: Queryable, { owner, leaseMs }: Lease) => db.many<WebhookKey>`
  with ours as (select project_id, webhook_id from webhook_queues where lease_owner = ${owner} order by project_id, webhook_id for update)
  update webhook_queues q set due_at = ${leaseEnd(leaseMs)} from ours
  where q.project_id = ours.project_id and q.webhook_id = ours.webhook_id returning q.project_id, q.webhook_id`

export interface QueueState
  extends LeasedQueue,
    Pick<WebhookRow, 'id' | 'url' | 'status' | 'secret' | 'previous_secret' | 'previous_until'> {
  ends_until: WebhookDeliveryId | null
}

const unnestKeys = (keys: WebhookKey[]) =>
  sql`unnest(${keys.map(({ project_id }) => project_id)}::uuid[], ${keys.map(({ webhook_id }) => webhook_id)}::uuid[])`

/** The webhooks of leased queues as they are now: what was paused, moved or given another secret shows at the next look. */
export const readQueues = (db: Queryable, keys: WebhookKey[], owner: string) => db.many<QueueState>`
  select q.project_id, q.webhook_id, q.filed, q.ends_until, w.id, w.url, w.status, w.secret, w.previous_secret, w.previous_until
  from ${unnestKeys(keys)} as k (project_id, webhook_id)
  join webhook_queues q on q.project_id = k.project_id and q.webhook_id = k.webhook_id and q.lease_owner = ${owner}
  join webhooks w on w.project_id = q.project_id and w.id = q.webhook_id`

/** A queue that is given back. `look_at`: before that, nothing is to be sent. */
export interface Returned extends LeasedQueue {
  /** Deliveries are left for whoever comes next. */
  hasMore: boolean
  look_at: Date | null
  /** It is paused or disabled: nobody needs to come at all. */
  isIdle: boolean
}

/**
 * Gives queues back. What was added to one in the meantime has changed `filed`, and that queue stays ours: the deliveries that this
 * statement sees may be older than the row that it changes. Answers which were given back.
 */
export const returnQueues = (db: Queryable, returned: Returned[], owner: string) => db.many<WebhookKey>`
  with returned as (
    select * from json_to_recordset(${JSON.stringify(returned.map(asRecord))})
      as r (project_id uuid, webhook_id uuid, filed bigint, has_more boolean, look_at timestamptz, is_idle boolean)
  ), ours as (
    select q.project_id, q.webhook_id from webhook_queues q join returned r on r.project_id = q.project_id and r.webhook_id = q.webhook_id
    where q.lease_owner = ${owner} and q.filed = r.filed order by 1, 2 for update of q
  )
  update webhook_queues q set lease_owner = null, due_at = case when r.is_idle then null else greatest(r.look_at, case when r.has_more then now() else (
    select min(d.next_at) from webhook_deliveries d
    where d.project_id = r.project_id and d.webhook_id = r.webhook_id and d.status = 'pending' and d.attempt > 0) end) end
  from ours join returned r using (project_id, webhook_id)
  where q.project_id = ours.project_id and q.webhook_id = ours.webhook_id
  returning q.project_id, q.webhook_id`

const asRecord = ({ project_id, webhook_id, filed, hasMore, look_at, isIdle }: Returned) => ({
  project_id,
  webhook_id,
  filed,
  has_more: hasMore,
  look_at,
  is_idle: isIdle,
})

/** For a process that ends: whoever is there takes them up at once. */
export const dropLeases = (db: Queryable, owner: string) => db.run`
  update webhook_queues set lease_owner = null, due_at = now() where lease_owner = ${owner}`

export interface Ending extends WebhookKey {
  until: WebhookDeliveryId
}

export const endedEarly = 'the webhook was disabled before this could be sent'

/** One piece of what a disabled webhook leaves waiting. Answers how many ended. */
export const endDeliveries = (db: Queryable, { project_id, webhook_id, until }: Ending, limit: number) => db.run`
  update webhook_deliveries set status = 'failed', next_at = null, error = ${endedEarly}
  where project_id = ${project_id} and webhook_id = ${webhook_id} and id in (
    select id from webhook_deliveries
    where project_id = ${project_id} and webhook_id = ${webhook_id} and status = 'pending' and next_at is not null and id <= ${until}
    limit ${limit})`

export const hasEnded = (db: Queryable, { project_id, webhook_id, until }: Ending) => db.run`
  update webhook_queues set ends_until = null where project_id = ${project_id} and webhook_id = ${webhook_id} and ends_until = ${until}`

/** For when two projects become one. */
export const moveQueues = (tx: Transaction, { from, to }: { from: ProjectId; to: ProjectId }) => tx.run`
  update webhook_queues set project_id = ${to}, lease_owner = null, due_at = now(), filed = filed + 1 where project_id = ${from}`

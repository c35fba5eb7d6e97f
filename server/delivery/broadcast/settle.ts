import type { BroadcastId, DeliveryId, PostId, ProjectId } from '../../base/ids.ts'
import type { Database, Queryable, Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import { nextAttempt } from '../retry-times.ts'
import type { Outcome } from '../transports/index.ts'
import type { Claimed } from './broadcast.ts'

export interface Settled {
  delivery: Pick<Claimed, 'project_id' | 'id' | 'broadcast_id' | 'attempts'>
  outcome: Outcome
}

/**
 * Writes what became of a batch, and adds it to the broadcasts' counts, in one statement. Only whoever holds the lease settles: a
 * process that was given up and comes back changes nothing.
 */
export async function settleBatch(db: Queryable, node_id: string, batch: Settled[], now: Date): Promise<void> {
  if (batch.length === 0) return
  const rows = batch.map(({ delivery, outcome }) => rowOf(delivery, outcome, now))
  await db.run`
    with outcome as (
      select * from unnest(
        ${rows.map((row) => row.project_id)}::uuid[], ${rows.map((row) => row.id)}::uuid[], ${rows.map((row) => row.status)}::text[],
        ${rows.map((row) => row.smtp_code)}::integer[], ${rows.map((row) => row.enhanced_code)}::text[], ${rows.map((row) => row.reason)}::text[],
        ${rows.map((row) => row.next_attempt_at)}::timestamptz[]
      ) as o (project_id, id, status, smtp_code, enhanced_code, reason, next_attempt_at)
    ), settled as (
      update deliveries d set status = o.status, smtp_code = o.smtp_code, enhanced_code = o.enhanced_code, reason = o.reason,
        next_attempt_at = coalesce(o.next_attempt_at, d.next_attempt_at), lease_owner = null,
        sent_at = case when o.status = 'delivered' then ${now}::timestamptz else d.sent_at end,
        settled_at = case when o.status = 'queued' then null else ${now}::timestamptz end
      from outcome o
      where d.project_id = o.project_id and d.id = o.id and d.status = 'sending' and d.lease_owner = ${node_id}
      returning d.project_id, d.broadcast_id, d.status
    )
    update broadcasts b set delivered = b.delivered + s.delivered, bounced = b.bounced + s.bounced, failed = b.failed + s.failed
    from (
      select project_id, broadcast_id, count(*) filter (where status = 'delivered') as delivered,
        count(*) filter (where status = 'bounced') as bounced, count(*) filter (where status = 'failed') as failed
      from settled group by project_id, broadcast_id
    ) s
    where b.project_id = s.project_id and b.id = s.broadcast_id`
}

function rowOf({ project_id, id, attempts }: Settled['delivery'], outcome: Outcome, now: Date) {
  const again = outcome.kind === 'deferred' ? nextAttempt(attempts, now) : null
  return {
    project_id,
    id,
    status: again ? 'queued' : outcome.kind === 'deferred' ? 'failed' : outcome.kind,
    smtp_code: outcome.smtp_code,
    enhanced_code: outcome.kind === 'delivered' ? null : outcome.enhanced_code,
    reason: outcome.kind === 'delivered' ? null : outcome.reason,
    next_attempt_at: again,
  }
}

/** From the journal of a process that died: the peer had said yes to these. */
export const settleAccepted = async (db: Queryable, node_id: string, ids: DeliveryId[], now: Date): Promise<void> => {
  const held = await db.many<Claimed>`
    select project_id, id, broadcast_id, contact_id, email, name, attempts from deliveries
    where lease_owner = ${node_id} and status = 'sending' and id = any(${ids}::uuid[])`
  const accepted: Outcome = { kind: 'delivered', smtp_code: 250, response: 'as the journal tells' }
  await settleBatch(
    db,
    node_id,
    held.map((delivery) => ({ delivery, outcome: accepted })),
    now,
  )
}

/** The rest of what a dead process held has not been accepted by anybody: it is due again, and the attempt does not count. */
export const releaseLeases = (db: Queryable, node_id: string, now: Date) => db.run`
  update deliveries set status = 'queued', attempts = attempts - 1, lease_owner = null, next_attempt_at = ${now} where lease_owner = ${node_id} and status = 'sending'`

interface Finished {
  project_id: ProjectId
  id: BroadcastId
  post_id: PostId
  list_id: never
  subject: string
}

/**
 * A broadcast is complete when every delivery has a final status, never because a batch came back empty. Both looks are under the lock
 * of the broadcast's row, so that it ends once.
 */
export const finishBroadcasts = (database: Database): Promise<number> =>
  database.transaction(async (tx) => {
    const finished = await tx.many<Finished>`
      update broadcasts b set status = 'done', finished_at = ${tx.now}
      from (
        select b.project_id, b.id from broadcasts b
        where b.status = 'sending' and b.is_expanded and not exists (
          select 1 from deliveries d where d.project_id = b.project_id and d.broadcast_id = b.id and d.status in ('queued', 'sending'))
        for update skip locked
      ) over
      where b.project_id = over.project_id and b.id = over.id
      returning b.project_id, b.id, b.post_id, b.list_id, b.source->'post'->>'subject' as subject`
    for (const broadcast of finished) await tellFinished(tx, broadcast)
    return finished.length
  })

/** The post itself says that it was sent in the same moment: nobody sees one without the other. */
async function tellFinished(tx: Transaction, { project_id, post_id, list_id, subject }: Finished): Promise<void> {
  await tx.run`update posts set status = 'sent', sent_at = coalesce(sent_at, ${tx.now}), updated_at = ${tx.now} where project_id = ${project_id} and id = ${post_id}`
  await publish(tx, project_id, 'post.delivered', { post_id, list_id, subject })
}

const closeChunk = 10_000

/** What an aborted broadcast had not sent yet, and what a process held that is gone for good. True when there may be more. */
export async function closeAborted(database: Database, now: Date): Promise<boolean> {
  const closed = await database.run`
    with left_over as (
      select d.project_id, d.id, d.broadcast_id from broadcasts b join deliveries d on d.project_id = b.project_id and d.broadcast_id = b.id
      where b.status = 'aborted' and b.finished_at is null
        and (d.status = 'queued' or (d.status = 'sending' and d.next_attempt_at <= ${now})) limit ${closeChunk} for update of d skip locked
    ), closed as (
      update deliveries d set status = 'failed', reason = 'The broadcast was aborted before this was sent', lease_owner = null, settled_at = ${now}
      from left_over l where d.project_id = l.project_id and d.id = l.id
      returning d.project_id, d.broadcast_id
    )
    update broadcasts b set failed = b.failed + c.count
    from (select project_id, broadcast_id, count(*) as count from closed group by 1, 2) c
    where b.project_id = c.project_id and b.id = c.broadcast_id`
  if (closed > 0) return true
  await database.run`
    update broadcasts b set finished_at = ${now} where status = 'aborted' and finished_at is null and not exists (
      select 1 from deliveries d where d.project_id = b.project_id and d.broadcast_id = b.id and d.status in ('queued', 'sending'))`
  return false
}

import type { BroadcastId, DeliveryId, ListId, PostId, ProjectId } from '../../base/ids.ts'
import type { Database, Queryable, Transaction } from '../../database/database.ts'
import { type Fragment, nothing, sql } from '../../database/sql.ts'
import type { EventData } from '../../events/catalogue.ts'
import { whoWants } from '../../events/interests.ts'
import { publish } from '../../events/publish.ts'
import { type Copy, publishOfRecipients } from '../../events/publish-of-recipients.ts'
import { nextAttempt } from '../retry-times.ts'
import { bounceClassOf, type Outcome } from '../transports/index.ts'
import { uncountClaims } from '../warm-up.ts'
import type { Claimed } from './broadcast.ts'
import { addingToHours, hourOf } from './hours.ts'

export interface Settled {
  delivery: Pick<Claimed, 'project_id' | 'id' | 'broadcast_id' | 'attempts'>
  outcome: Outcome
}

/**
 * Writes what became of a batch, and adds it to the broadcasts' counts, in one statement. Only whoever holds the lease settles: a
 * process that was given up and comes back changes nothing.
 */
export async function settleBatch(database: Database, node_id: string, batch: Settled[], now: Date): Promise<void> {
  if (batch.length === 0) return
  const settled = await settleAndTell(database, node_id, batch, now)
  if (settled < batch.length) await settleMoved(database, node_id, batch, now)
}

/** Bounces are told by whoever draws their consequences; what is put off is no event. */
const told = ['email.sent', 'email.delivered'] as const

/** Where somebody reads them, the events are written in the transaction that settles; where nobody does, they cost a look into a cache. */
async function settleAndTell(database: Database, node_id: string, batch: Settled[], now: Date): Promise<number> {
  const accepted = batch.filter(({ outcome }) => outcome.kind === 'delivered').map(({ delivery }) => delivery.project_id)
  const wanting = await whoWants(database, accepted, told)
  if (wanting.size === 0) return settleRows(database, node_id, batch, now)
  return database.transaction(async (tx) => {
    const copies = await settleCopies(tx, node_id, batch, now)
    const delivered = copies.filter(({ status }) => status === 'delivered')
    await publishOfRecipients(
      tx,
      told.flatMap((type) => delivered.filter(({ project_id }) => wanting.get(project_id)?.includes(type)).map((copy) => ({ type, copy }))),
    )
    return copies.length
  })
}

/** An agent's project may have become part of another one since this was claimed. What was handed over is settled where it is now. */
async function settleMoved(database: Database, node_id: string, batch: Settled[], now: Date): Promise<void> {
  const held = await heldBy(
    database,
    node_id,
    batch.map(({ delivery }) => delivery.id),
  )
  const places = new Map(held.map(({ id, project_id }) => [id, project_id]))
  const moved = batch.flatMap(({ delivery, outcome }) => {
    const project_id = places.get(delivery.id)
    return project_id ? [{ delivery: { ...delivery, project_id }, outcome }] : []
  })
  if (moved.length > 0) await settleAndTell(database, node_id, moved, now)
}

/** How many of them this process still held. */
async function settleRows(db: Queryable, node_id: string, batch: Settled[], now: Date): Promise<number> {
  const counted = await db.first<{ settled: number }>`${settling(node_id, batch, now, nothing)} select count(*) as settled from settled`
  return counted?.settled ?? 0
}

/** The same, and whose they were. */
const settleCopies = (tx: Transaction, node_id: string, batch: Settled[], now: Date) =>
  tx.many<
    Copy & { status: string }
  >`${settling(node_id, batch, now, sql`, d.id, d.subscriber_id, d.contact_id, d.email`)} select * from settled`

/** Goes after `settled`. Two who settle for the same broadcasts at once wait for one another, never in a ring. */
const heldInOrder = sql`held as (
  select b.project_id, b.id from broadcasts b where (b.project_id, b.id) in (select project_id, broadcast_id from settled)
  order by b.project_id, b.id for update of b)`

function settling(node_id: string, batch: Settled[], now: Date, more: Fragment): Fragment {
  const rows = batch.map(({ delivery, outcome }) => rowOf(delivery, outcome, now))
  return sql`
    with outcome as (
      select * from unnest(
        ${rows.map((row) => row.project_id)}::uuid[], ${rows.map((row) => row.id)}::uuid[], ${rows.map((row) => row.status)}::text[],
        ${rows.map((row) => row.smtp_code)}::integer[], ${rows.map((row) => row.enhanced_code)}::text[], ${rows.map((row) => row.reason)}::text[],
        ${rows.map((row) => row.next_attempt_at)}::timestamptz[], ${rows.map((row) => row.bounce_class)}::text[]
      ) as o (project_id, id, status, smtp_code, enhanced_code, reason, next_attempt_at, bounce_class)
    ), settled as (
      update deliveries d set status = o.status, smtp_code = o.smtp_code, enhanced_code = o.enhanced_code, reason = o.reason, bounce_class = o.bounce_class,
        next_attempt_at = coalesce(o.next_attempt_at, d.next_attempt_at), lease_owner = null,
        sent_at = case when o.status = 'delivered' then ${now}::timestamptz else d.sent_at end,
        settled_at = case when o.status = 'queued' then null else ${now}::timestamptz end
      from outcome o
      where d.project_id = o.project_id and d.id = o.id and d.status = 'sending' and d.lease_owner = ${node_id}
      returning d.project_id, d.broadcast_id, d.status ${more}
    ), ${heldInOrder}, counted as (
      update broadcasts b set delivered = b.delivered + s.delivered, bounced = b.bounced + s.bounced, failed = b.failed + s.failed
      from (
        select project_id, broadcast_id, count(*) filter (where status = 'delivered') as delivered,
          count(*) filter (where status = 'bounced') as bounced, count(*) filter (where status = 'failed') as failed
        from settled group by project_id, broadcast_id
      ) s join held on held.project_id = s.project_id and held.id = s.broadcast_id
      where b.project_id = s.project_id and b.id = s.broadcast_id
      returning b.project_id, b.id, b.list_id, b.created_at, s.delivered, s.bounced
    ), in_hours as (${addingToHours(sql`
      select project_id, id, ${hourOf(sql`${now}::timestamptz`, sql`created_at`)}, list_id, delivered, bounced, 0, 0, 0, 0
      from counted where delivered + bounced > 0`)}
    )`
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
    bounce_class: again ? null : bounceClassOf(outcome),
  }
}

const heldBy = (db: Queryable, node_id: string, ids: DeliveryId[]) => db.many<Claimed>`
  select project_id, id, broadcast_id, contact_id, email, name, attempts from deliveries
  where lease_owner = ${node_id} and status = 'sending' and id = any(${ids}::uuid[])`

/** From the journal of a process that died: the peer had said yes to these. */
export const settleAccepted = async (database: Database, node_id: string, ids: DeliveryId[], now: Date): Promise<void> => {
  const held = await heldBy(database, node_id, ids)
  const accepted: Outcome = { kind: 'delivered', smtp_code: 250, response: 'as the journal tells' }
  await settleBatch(
    database,
    node_id,
    held.map((delivery) => ({ delivery, outcome: accepted })),
    now,
  )
}

/** The rest of what a dead process held has not been accepted by anybody: it is due again, and the attempt does not count. */
export const releaseLeases = (db: Queryable, node_id: string, now: Date) => db.run`
  with back as (
    update deliveries set status = 'queued', attempts = attempts - 1, lease_owner = null, next_attempt_at = least(now(), ${now}::timestamptz)
    where lease_owner = ${node_id} and status = 'sending'
    returning project_id, broadcast_id, attempts
  ), ${uncountClaims}
  select 1 from back`

interface Over {
  project_id: ProjectId
  id: BroadcastId
  list_id: ListId
  post_id: PostId
}

/**
 * A broadcast is complete when every delivery has a final status, never because a batch came back empty. So is one that was paused too late to
 * hold anything back; what the breaker has paused waits until its owner was told.
 */
const isOver = sql`b.status in ('sending', 'paused') and b.is_expanded and (b.status = 'sending' or b.tripped is null or b.owner_told_at is not null) and not exists (
  select 1 from deliveries d where d.project_id = b.project_id and d.broadcast_id = b.id and d.status in ('queued', 'sending') offset 0)`

export async function finishBroadcasts(database: Database): Promise<void> {
  const over = await database.many<Over>`select b.project_id, b.id, b.list_id, b.post_id from broadcasts b where ${isOver}`
  for (const broadcast of over) await finish(database, broadcast)
}

type SentPost = EventData<'post.delivered'>['post']

/**
 * The post itself says that it was sent in the same moment: nobody sees one without the other. Its row is held first, as by all who change
 * both, and it is looked once more: so a broadcast ends once.
 */
const finish = (database: Database, { project_id, id, list_id, post_id }: Over): Promise<void> =>
  database.transaction(async (tx) => {
    await tx.run`select 1 from posts where project_id = ${project_id} and list_id = ${list_id} and id = ${post_id} for update`
    const finished = await tx.first<{ recipients: number }>`
      update broadcasts b set status = 'done', reason = null, finished_at = ${tx.now} where b.project_id = ${project_id} and b.id = ${id} and ${isOver}
      returning b.recipients`
    if (!finished) return
    const post = await tx.first<Omit<SentPost, 'sending' | 'recipients'>>`
      update posts set status = 'sent', sent_at = coalesce(sent_at, ${tx.now}), updated_at = ${tx.now}
      where project_id = ${project_id} and list_id = ${list_id} and id = ${post_id}
      returning id, subject, status, source, needs_approval, created_at, sent_at, scheduled_at`
    // Without it the list is being purged: nobody is left to be told.
    if (post)
      await publish(tx, project_id, 'post.delivered', {
        post_id,
        list_id,
        subject: post.subject,
        post: { ...post, sending: false, ...finished },
      })
  })

const closeChunk = 10_000

/** What an aborted broadcast had not sent yet, and what a process held that is gone for good. True when there may be more. */
export async function closeAborted(database: Database, now: Date): Promise<boolean> {
  const closed = await database.run`
    with left_over as (
      select d.project_id, d.id, d.broadcast_id from broadcasts b join deliveries d on d.project_id = b.project_id and d.broadcast_id = b.id
      where b.status = 'aborted' and b.finished_at is null
        and (d.status = 'queued' or (d.status = 'sending' and d.next_attempt_at <= now())) limit ${closeChunk} for update of d skip locked
    ), settled as (
      update deliveries d set status = 'failed', smtp_code = null, enhanced_code = null, reason = 'The broadcast was aborted before this was sent',
        lease_owner = null, settled_at = ${now}
      from left_over l where d.project_id = l.project_id and d.id = l.id
      returning d.project_id, d.broadcast_id
    ), ${heldInOrder}
    update broadcasts b set failed = b.failed + c.count
    from (select project_id, broadcast_id, count(*) as count from settled group by 1, 2) c join held on held.project_id = c.project_id and held.id = c.broadcast_id
    where b.project_id = c.project_id and b.id = c.broadcast_id`
  if (closed > 0) return true
  await database.run`
    update broadcasts b set finished_at = ${now} where status = 'aborted' and finished_at is null and not exists (
      select 1 from deliveries d where d.project_id = b.project_id and d.broadcast_id = b.id and d.status in ('queued', 'sending'))`
  return false
}

import type { BroadcastId, ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { releaseEmails } from './reserve-emails.ts'

export interface BroadcastKey {
  project_id: ProjectId
  id: BroadcastId
}

/** Broadcasts that are over and have not given back yet what they did not use. */
export const pageUnreleased = (db: Queryable, limit: number) => db.many<BroadcastKey>`
  select project_id, id from broadcasts where reservation_id is not null and finished_at is not null order by finished_at limit ${limit}`

/**
 * Gives back what a broadcast has booked and not used: those who had left before their turn, and those whose delivery failed. Once: the
 * broadcast lets go of its reservation in the same transaction. What was delivered or bounced had left, and counts.
 */
export async function releaseUnused(tx: Transaction, { project_id, id }: BroadcastKey): Promise<void> {
  const broadcast = await tx.first<{ reservation_id: string | null; booked: number }>`
    select reservation_id, booked from broadcasts where project_id = ${project_id} and id = ${id} for update`
  if (!broadcast?.reservation_id) return
  const { reservation_id, booked } = broadcast
  // Counted in the ledger itself: this is money.
  const used = await countUsed(tx, { project_id, id })
  await tx.run`
    update broadcasts set reservation_id = null, booked = least(booked, ${used}) where project_id = ${project_id} and id = ${id}`
  if (booked > used) await releaseEmails(tx, { project_id, reservation_id, count: booked - used })
}

async function countUsed(db: Queryable, { project_id, id }: BroadcastKey): Promise<number> {
  const counted = await db.first<{ used: number }>`
    select count(*) as used from deliveries
    where project_id = ${project_id} and broadcast_id = ${id} and status in ('delivered', 'bounced', 'complained', 'sending')`
  return counted?.used ?? 0
}

import type { BroadcastId, ListId, ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'

export interface BroadcastKey {
  project_id: ProjectId
  id: BroadcastId
}

/** Broadcasts that are over and have not given back yet what they did not use. */
export const pageUnreleased = (db: Queryable, limit: number) => db.many<BroadcastKey>`
  select project_id, id from broadcasts where reservation_id is not null and finished_at is not null order by finished_at limit ${limit}`

/** All of a project, whether they are over or not. */
export const unreleasedOf = (db: Queryable, project_id: ProjectId) => db.many<BroadcastKey>`
  select project_id, id from broadcasts where project_id = ${project_id} and reservation_id is not null`

/** Whether anything that was booked is in some sender's hands; of one list, or of all. */
export const isBeingSent = async (db: Queryable, { project_id, list_id }: { project_id: ProjectId; list_id?: ListId }): Promise<boolean> =>
  (await db.first`
    select 1 from broadcasts b join deliveries d on d.project_id = b.project_id and d.broadcast_id = b.id and d.status = 'sending'
    where b.project_id = ${project_id} ${list_id === undefined ? nothing : sql`and b.list_id = ${list_id}`} and b.reservation_id is not null
    limit 1`) !== null

/** Not of one that goes on: it may have been over when the caller looked, and have booked anew since. */
export const lockBooking = (tx: Transaction, { project_id, id }: BroadcastKey) => tx.first<{
  reservation_id: string | null
  booked: number
}>`
  select reservation_id, booked from broadcasts
  where project_id = ${project_id} and id = ${id} and status in ('done', 'aborted') for update`

export const endBooking = (tx: Transaction, { project_id, id }: BroadcastKey, used: number) => tx.run`
  update broadcasts set reservation_id = null, booked = ${used} where project_id = ${project_id} and id = ${id}`

/** Counted in the ledger itself: this is money. */
export async function countUsed(db: Queryable, { project_id, id }: BroadcastKey): Promise<number> {
  const counted = await db.first<{ used: number }>`
    select count(*) as used from deliveries
    where project_id = ${project_id} and broadcast_id = ${id} and status in ('delivered', 'bounced', 'complained', 'sending')`
  return counted?.used ?? 0
}

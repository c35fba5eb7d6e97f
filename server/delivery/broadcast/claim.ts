import type { BroadcastId, ProjectId } from '../../base/ids.ts'
import type { Database, Queryable } from '../../database/database.ts'
import type { Claimed } from './broadcast.ts'

/** Far longer than a batch takes: whoever holds one so long is dead. */
const leaseMs = 10 * 60_000

export interface Lessee {
  /** This process, as the ledger knows it. */
  node_id: string
  now: Date
}

/** Broadcasts that may send, oldest first. */
export const openBroadcasts = (db: Queryable) => db.many<{ project_id: ProjectId; id: BroadcastId }>`
  select project_id, id from broadcasts where status = 'sending' order by created_at limit 100`

/** Takes what is due, and what somebody took and never settled. Two who ask at once get different rows. */
export const claimDeliveries = (
  database: Database,
  { project_id, id }: { project_id: ProjectId; id: BroadcastId },
  { node_id, now }: Lessee,
  limit: number,
) => database.many<Claimed>`
  update deliveries d set status = 'sending', attempts = d.attempts + 1, lease_owner = ${node_id},
    next_attempt_at = ${new Date(now.getTime() + leaseMs)}
  from (
    select project_id, id from deliveries
    where project_id = ${project_id} and broadcast_id = ${id} and status in ('queued', 'sending') and next_attempt_at <= ${now}
    order by next_attempt_at limit ${limit} for update skip locked
  ) due
  where d.project_id = due.project_id and d.id = due.id
  returning d.project_id, d.id, d.broadcast_id, d.contact_id, d.email, d.name, d.attempts`

/** What this process claimed and did not begin, when it stops in good order. */
export const giveBack = (db: Queryable, node_id: string, ids: string[], now: Date) => db.run`
  update deliveries set status = 'queued', attempts = attempts - 1, lease_owner = null, next_attempt_at = ${now}
  where lease_owner = ${node_id} and status = 'sending' and id = any(${ids}::uuid[])`

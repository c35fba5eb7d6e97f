import type { BroadcastId, ListId, ProjectId } from '../../base/ids.ts'
import type { Database, Queryable } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import type { Claimed } from './broadcast.ts'
import { contactValues } from './merge-values.ts'

export interface Lessee {
  /** This process, as the ledger knows it. */
  node_id: string
  now: Date
  /** Whoever has not renewed a claim for so long is dead. */
  lease_ms: number
}

const leaseEnd = ({ now, lease_ms }: Lessee): Date => new Date(now.getTime() + lease_ms)

export interface OpenBroadcast {
  project_id: ProjectId
  id: BroadcastId
  list_id: ListId
  uses_contact: boolean
}

const contactOf = sql`, (select ${contactValues} from contacts c where c.project_id = d.project_id and c.id = d.contact_id) as contact`

/** Broadcasts that may send, oldest first. */
export const openBroadcasts = (db: Queryable) => db.many<OpenBroadcast>`
  select project_id, id, list_id, uses_contact from broadcasts where status = 'sending' order by created_at limit 100`

export interface Claim {
  /** What to send. */
  wanted: Claimed[]
  /** How many were taken, wanted or not. */
  taken: number
}

/**
 * Takes what is due, and what somebody took and never settled. Whoever has left the list or was suppressed since send was pressed gets
 * nothing: their part of the ledger says why.
 */
export async function claimDeliveries(database: Database, broadcast: OpenBroadcast, lessee: Lessee, limit: number): Promise<Claim> {
  const rows = await claim(database, broadcast, lessee, limit)
  const unwanted = rows.filter(({ is_wanted }) => !is_wanted).map(({ id }) => id)
  if (unwanted.length > 0) await withdraw(database, broadcast, lessee, unwanted)
  return { wanted: rows.filter(({ is_wanted }) => is_wanted), taken: rows.length }
}

/** Suppressions are kept by a hash of project and address: `addressHash` in features/suppressions makes the same. */
const isWanted = (list_id: ListId) => sql`coalesce((
  select s.status = 'active' and not exists (
    select 1 from suppressions x
    where x.project_id = s.project_id and x.address_hash = sha256(convert_to(s.project_id::text || ':' || s.email_key, 'UTF8')))
  from subscribers s where s.project_id = d.project_id and s.list_id = ${list_id} and s.id = d.subscriber_id), false)`

/** Two who ask at once get different rows. */
const claim = (
  database: Database,
  { project_id, id, list_id, uses_contact }: OpenBroadcast,
  lessee: Lessee,
  limit: number,
) => database.many<Claimed & { is_wanted: boolean }>`
  update deliveries d set status = 'sending', attempts = d.attempts + 1, lease_owner = ${lessee.node_id},
    next_attempt_at = ${leaseEnd(lessee)}
  from (
    select project_id, id from deliveries
    where project_id = ${project_id} and broadcast_id = ${id} and status in ('queued', 'sending') and next_attempt_at <= ${lessee.now}
    order by next_attempt_at limit ${limit} for update skip locked
  ) due
  where d.project_id = due.project_id and d.id = due.id
  returning d.project_id, d.id, d.broadcast_id, d.contact_id, d.email, d.name, d.attempts, ${isWanted(list_id)} as is_wanted ${uses_contact ? contactOf : nothing}`

const withdraw = (database: Database, { project_id, id }: OpenBroadcast, { node_id, now }: Lessee, ids: string[]) => database.run`
  with withdrawn as (
    update deliveries set status = 'failed', reason = 'They left the list or were suppressed before this was sent', lease_owner = null, settled_at = ${now}
    where project_id = ${project_id} and id = any(${ids}::uuid[]) and status = 'sending' and lease_owner = ${node_id}
    returning 1)
  update broadcasts set failed = failed + (select count(*) from withdrawn) where project_id = ${project_id} and id = ${id}`

/**
 * A peer may take longer for one message than a lease lasts. Only what this process knows it has is renewed: what it claimed and never
 * heard of, because the database went away in that moment, is due again when its lease ends.
 */
export const renewLeases = (db: Queryable, lessee: Lessee, ids: string[]) => db.run`
  update deliveries set next_attempt_at = ${leaseEnd(lessee)}
  where lease_owner = ${lessee.node_id} and status = 'sending' and id = any(${ids}::uuid[])`

/** What this process claimed and did not begin, when it stops in good order. */
export const giveBack = (db: Queryable, node_id: string, ids: string[], now: Date) => db.run`
  update deliveries set status = 'queued', attempts = attempts - 1, lease_owner = null, next_attempt_at = ${now}
  where lease_owner = ${node_id} and status = 'sending' and id = any(${ids}::uuid[])`

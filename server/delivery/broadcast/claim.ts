import type { BroadcastId, DeliveryId, ListId, ProjectId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import { uncountClaims, type WarmUps } from '../warm-up.ts'
import type { BroadcastKey, Claimed } from './broadcast.ts'
import { contactValues } from './merge-values.ts'

export interface Lessee {
  /** This process, as the ledger knows it. */
  node_id: string
  now: Date
  /** Whoever has not renewed a claim for so long is dead. */
  lease_ms: number
  /** Whether it also takes what others claimed whose leases have run out: not while those may have been unable to renew them. */
  takes_over: boolean
}

/**
 * Leases begin and end by the database's clock, which all senders share: clocks of machines differ, and jump. When something is due is a
 * matter of the sender's own clock, or of the database's if that one is ahead.
 */
const leaseEnd = ({ lease_ms }: Lessee) => sql`now() + ${lease_ms}::integer * interval '1 millisecond'`
const isDue = ({ now, takes_over }: Lessee) =>
  sql`next_attempt_at <= greatest(now(), ${now}::timestamptz) and (status = 'queued' ${takes_over ? sql`or next_attempt_at <= now()` : nothing})`

export interface OpenBroadcast {
  project_id: ProjectId
  id: BroadcastId
  list_id: ListId
  uses_contact: boolean
  from_domain: string | null
}

const contactOf = sql`, (select ${contactValues} from contacts c where c.project_id = d.project_id and c.id = d.contact_id) as contact`

/** So many are looked at at once. */
export const duePage = 100
const beforeAll = '00000000-0000-0000-0000-000000000000'

/**
 * Broadcasts that may send and have something due, by their ids, behind `after`: one that only waits stands in nobody's way. Looked up one by
 * one: a join would be planned by statistics that do not know of deliveries which were made a moment ago.
 */
export const dueBroadcasts = (db: Queryable, lessee: Lessee, after: BroadcastId | null) => db.many<OpenBroadcast>`
  select project_id, id, list_id, uses_contact, from_domain from broadcasts b
  where status = 'sending' and id > ${after ?? beforeAll} and exists (
    select 1 from deliveries d
    where d.project_id = b.project_id and d.broadcast_id = b.id and d.status in ('queued', 'sending') and ${isDue(lessee)} offset 0)
  order by id limit ${duePage}`

/** Which of these may still send. */
export const openAmong = (db: Queryable, keys: BroadcastKey[]) => db.many<{ id: BroadcastId }>`
  select b.id from broadcasts b
  join unnest(${keys.map(({ project_id }) => project_id)}::uuid[], ${keys.map(({ id }) => id)}::uuid[]) as held (project_id, id)
    on b.project_id = held.project_id and b.id = held.id
  where b.status = 'sending'`

export interface Claim {
  /** What to send. */
  wanted: Claimed[]
  /** How many were taken, wanted or not. */
  taken: number
}

/** Whether somebody still gets their copy, or why not. */
type Standing = 'wanted' | 'gone' | 'paused'
const unwanted: Record<Exclude<Standing, 'wanted'>, string> = {
  gone: 'They left the list or were suppressed before this was sent',
  paused: 'They asked for a pause before this was sent',
}

/**
 * Takes what is due, and what somebody took and never settled. Whoever has left the list, was suppressed or pauses since send was pressed
 * gets nothing: their part of the ledger says why.
 */
export async function claimDeliveries(warmUps: WarmUps, broadcast: OpenBroadcast, lessee: Lessee, limit: number): Promise<Claim> {
  const claimed = await warmUps.within({ ...broadcast, now: lessee.now, limit }, async (db, limits): Promise<Claim> => {
    const tried = limits.isRetryOnly ? await findTried(db, broadcast, lessee, limits.limit) : null
    const rows = tried?.length === 0 ? [] : await claim(db, broadcast, lessee, { limit: limits.limit, among: tried?.map(({ id }) => id) })
    for (const why of ['gone', 'paused'] as const) {
      const ids = rows.filter(({ standing }) => standing === why).map(({ id }) => id)
      if (ids.length > 0) await withdraw(db, broadcast, lessee, { ids, reason: unwanted[why] })
    }
    return { wanted: rows.filter(({ standing }) => standing === 'wanted'), taken: rows.length }
  })
  return claimed ?? { wanted: [], taken: 0 }
}

/**
 * Suppressions are kept by a hash of project and address: `addressHash` in features/suppressions makes the same. The list is no condition of the
 * search, for which PostgreSQL would take an index by lists, and search it once for each status: a sixth of a claim.
 */
const standingOf = (list_id: ListId, { now }: Lessee) => sql`coalesce((
  select case
    when s.list_id <> ${list_id} or s.status <> 'active' or exists (
      select 1 from suppressions x
      where x.project_id = s.project_id and x.address_hash = sha256(convert_to(s.project_id::text || ':' || s.email_key, 'UTF8'))) then 'gone'
    when s.paused_until > ${now} then 'paused'
    else 'wanted' end
  from subscribers s where s.project_id = d.project_id and s.id = d.subscriber_id), 'gone')`

/** Through indexes of the few that were put off and that are in hand: by time alone, all that waits for its first try would be passed by. */
const findTried = (db: Queryable, { project_id, id }: OpenBroadcast, { now }: Lessee, limit: number) => db.many<{ id: DeliveryId }>`
  (select id from deliveries
    where project_id = ${project_id} and broadcast_id = ${id} and status = 'queued' and attempts > 0
      and next_attempt_at <= greatest(now(), ${now}::timestamptz)
    order by next_attempt_at limit ${limit})
  union all
  select id from (select project_id, broadcast_id, id, next_attempt_at from deliveries where status = 'sending' offset 0) in_hand
  where project_id = ${project_id} and broadcast_id = ${id} and next_attempt_at <= now()`

/** Two who ask at once get different rows. */
const claim = (
  db: Queryable,
  { project_id, id, list_id, uses_contact }: OpenBroadcast,
  lessee: Lessee,
  { limit, among }: { limit: number; among: DeliveryId[] | undefined },
) => db.many<Claimed & { standing: Standing }>`
  update deliveries d set status = 'sending', attempts = d.attempts + 1, lease_owner = ${lessee.node_id},
    next_attempt_at = ${leaseEnd(lessee)}
  from (
    select project_id, id from deliveries
    where project_id = ${project_id} and ${among ? sql`id = any(${among}::uuid[]) and attempts > 0` : sql`broadcast_id = ${id}`}
      and status in ('queued', 'sending') and ${isDue(lessee)}
    order by next_attempt_at limit ${limit} for update skip locked
  ) due
  where d.project_id = due.project_id and d.id = due.id
  returning d.project_id, d.id, d.broadcast_id, d.contact_id, d.email, d.name, d.attempts, ${standingOf(list_id, lessee)} as standing ${uses_contact ? contactOf : nothing}`

const withdraw = (
  db: Queryable,
  { project_id, id }: OpenBroadcast,
  { node_id, now }: Lessee,
  { ids, reason }: { ids: DeliveryId[]; reason: string },
) => db.run`
  with withdrawn as (
    update deliveries set status = 'failed', smtp_code = null, enhanced_code = null, reason = ${reason},
      lease_owner = null, settled_at = ${now}
    where project_id = ${project_id} and id = any(${ids}::uuid[]) and status = 'sending' and lease_owner = ${node_id}
    returning 1)
  update broadcasts set failed = failed + (select count(*) from withdrawn) where project_id = ${project_id} and id = ${id}`

/**
 * A peer may take longer for one message than a lease lasts. Only what this process knows it has is renewed: what it claimed and never
 * heard of, because the database went away in that moment, is due again when its lease ends. Answers what it still has. What is locked is
 * being settled at this moment, and needs no lease any more: waiting for it, each would wait for the other.
 */
export const renewLeases = (db: Queryable, lessee: Lessee, ids: string[]) => db.many<{ id: DeliveryId }>`
  update deliveries d set next_attempt_at = ${leaseEnd(lessee)}
  from (
    select project_id, id from deliveries
    where lease_owner = ${lessee.node_id} and status = 'sending' and id = any(${ids}::uuid[]) for update skip locked
  ) held
  where d.project_id = held.project_id and d.id = held.id
  returning d.id`

/** What this process claimed and did not begin, when it stops in good order. */
export const giveBack = (db: Queryable, node_id: string, ids: string[], now: Date) => db.run`
  with back as (
    update deliveries set status = 'queued', attempts = attempts - 1, lease_owner = null, next_attempt_at = least(now(), ${now}::timestamptz)
    where lease_owner = ${node_id} and status = 'sending' and id = any(${ids}::uuid[])
    returning project_id, broadcast_id, attempts
  ), ${uncountClaims}
  select 1 from back`

/** What this process claimed and cannot begin for a while. Nobody was asked, so the attempt does not count. */
export const putOff = (db: Queryable, node_id: string, later: readonly { delivery: Claimed; at: Date }[]) => db.run`
  with back as (
    update deliveries d set status = 'queued', attempts = d.attempts - 1, lease_owner = null, next_attempt_at = later.at
    from unnest(${later.map(({ delivery }) => delivery.project_id)}::uuid[], ${later.map(({ delivery }) => delivery.id)}::uuid[],
      ${later.map(({ at }) => at)}::timestamptz[]) as later (project_id, id, at)
    where d.project_id = later.project_id and d.id = later.id and d.status = 'sending' and d.lease_owner = ${node_id}
    returning d.project_id, d.broadcast_id, d.attempts
  ), ${uncountClaims}
  select 1 from back`

import type { Queryable } from '../database/database.ts'
import { type Fragment, nothing, sql } from '../database/sql.ts'
import type { SpooledMessage } from './inbound-message.ts'

export interface ClaimedMessage extends SpooledMessage {
  /** This one included. */
  attempts: number
}

interface Claim {
  owner: string
  now: Date
  /** When others may take what has not been filed or renewed. */
  until: Date
  rows: number
  bytes: number
  /** Nothing else is in hand. */
  isIdle: boolean
  /** Of these there is enough in hand. */
  passOver: { peers: string[]; domains: string[] }
}

/** What is stored and in hand at once: `Taker`. */
export type OwnClaim = Pick<Claim, 'owner' | 'until'>

/** What has been tried so often without an end may be the end of the whole process: it is taken up alone, so that it takes no other with it. */
export const isSuspect = ({ attempts }: ClaimedMessage): boolean => attempts > maxTogether
const maxTogether = 2

/**
 * What is due, oldest first, as much as fits: at least one, however large. What others hold is passed over; what is locked and does not
 * fit is let go with the statement. When it is the turn of a suspect, nothing more is claimed until it can be claimed alone.
 */
export const claimMessages = (db: Queryable, { owner, now, until, rows, bytes, isIdle, passOver }: Claim) => db.many<ClaimedMessage>`
  with due as (
    select id, next_attempt_at, octet_length(raw) as size, attempts >= ${maxTogether} as is_suspect from inbound_spool
    where next_attempt_at <= ${now} ${butNot(passOver)} order by next_attempt_at limit ${rows} for update skip locked),
  summed as (
    select id, size, sum(size) over turn as total, row_number() over turn as place, count(*) filter (where is_suspect) over turn as suspects
    from due window turn as (order by next_attempt_at, id))
  update inbound_spool s set attempts = s.attempts + 1, lease_owner = ${owner}, next_attempt_at = ${until}
  from summed where s.id = summed.id and summed.total - summed.size < ${bytes}
    and (summed.suspects = 0 or (summed.place = 1 and ${isIdle}::boolean))
  returning s.id, s.received_at, s.peer, s.envelope_from, s.recipients, s.raw, s.attempts`

/** Whether it is the turn of one that has to be taken up alone. */
export const isSuspectDue = async (db: Queryable, now: Date): Promise<boolean> =>
  (await db.first`select 1 from inbound_spool where next_attempt_at <= ${now} and attempts >= ${maxTogether} limit 1`) !== null

const butNot = ({ peers, domains }: Claim['passOver']): Fragment =>
  peers.length + domains.length === 0
    ? nothing
    : sql`and peer->>'address' <> all(${peers}::text[]) and lower(substring(envelope_from from '[^@]*$')) <> all(${domains}::text[])`

export const renewClaims = (db: Queryable, { owner, ids, until }: { owner: string; ids: string[]; until: Date }) => db.run`
  update inbound_spool set next_attempt_at = ${until} where id = any(${ids}::uuid[]) and lease_owner = ${owner}`

/** For another time, uncounted: these were not to blame. */
export const putBack = (db: Queryable, { owner, ids, at }: { owner: string; ids: string[]; at: Date }) => db.run`
  update inbound_spool set next_attempt_at = ${at}, lease_owner = null, attempts = attempts - 1
  where id = any(${ids}::uuid[]) and lease_owner = ${owner}`

export const putOff = (db: Queryable, { owner, id, at, problem }: { owner: string; id: string; at: Date; problem: string }) => db.run`
  update inbound_spool set next_attempt_at = ${at}, lease_owner = null, problem = ${problem}
  where id = ${id} and lease_owner = ${owner}`

/** What is in hand and waits, for operators to see. */
export const noteProblem = (db: Queryable, { owner, ids, problem }: { owner: string; ids: string[]; problem: string }) => db.run`
  update inbound_spool set problem = ${problem} where id = any(${ids}::uuid[]) and lease_owner = ${owner}`

import type { BroadcastId, ProjectId } from '../base/ids.ts'
import type { Database, Queryable, Transaction } from '../database/database.ts'
import { type Fragment, sql } from '../database/sql.ts'
import { parseAddress } from '../mail/address.ts'
import { ceilingOn, startOfDay, startOfNextDay, type WarmUpRow } from '../mail/warm-up-days.ts'

/**
 * A new domain's daily ceiling (mail/warm-up-days.ts), for all senders together. What a broadcast claims for the first time is counted
 * in the transaction that claims it, under the lock of the domain's row: two who ask at once never take more than is left. What was
 * claimed and not begun is taken off again (`uncountClaims`); a retry is not counted a second time. Single mail counts, and is
 * never held.
 */
export interface WarmingDomain {
  project_id: ProjectId
  domain: string
}

/** The domain that receivers judge: the one in From, as DNS has it. Null for an address that is none. */
export function senderDomainOf(address: string): string | null {
  const parsed = parseAddress(address)
  return parsed.ok ? parsed.value.domain : null
}

/** Begins with the commit. A domain that was here before is known to receivers: it does not begin again. */
export async function startWarmUp(tx: Transaction, { project_id, domain }: WarmingDomain): Promise<void> {
  await tx.run`
    insert into warm_ups (project_id, domain, started_at, counted_from) values (${project_id}, ${domain}, ${tx.now}, ${startOfDay(tx.now)})
    on conflict do nothing`
}

/** Claimed for the first time, and neither given back nor settled yet: whatever day it was claimed on, it goes out today. */
const inHand = sql`(
  select count(*) from broadcasts b join deliveries d on d.project_id = b.project_id and d.broadcast_id = b.id
  where b.project_id = w.project_id and b.from_domain = w.domain and b.finished_at is null and d.status = 'sending' and d.attempts = 1)`

/** The first to count on a new day begins it. */
const counting = (now: Date, more: Fragment) => sql`
  update warm_ups w set sent = case when counted_from < ${startOfDay(now)} then ${inHand} else sent end + ${more},
    counted_from = greatest(counted_from, ${startOfDay(now)})`

const count = (db: Queryable, { project_id, domain }: WarmingDomain, now: Date, more: number) => db.run`
  ${counting(now, sql`${more}::integer`)} where project_id = ${project_id} and domain = ${domain}`

const find = (db: Queryable, { project_id, domain }: WarmingDomain) => db.first<WarmUpRow>`
  select started_at, counted_from, sent from warm_ups where project_id = ${project_id} and domain = ${domain}`

const lock = (tx: Transaction, { project_id, domain }: WarmingDomain) => tx.first<WarmUpRow>`
  select started_at, counted_from, sent from warm_ups where project_id = ${project_id} and domain = ${domain} for update`

/** How many may still go today. */
function leftOf(row: WarmUpRow | null, now: Date): number {
  const ceiling = row && ceilingOn(row.started_at, now)
  if (!row || ceiling === null) return Number.POSITIVE_INFINITY
  return Math.max(0, ceiling - (row.counted_from < startOfDay(now) ? 0 : row.sent))
}

/** As it stands today. */
async function lockToday(tx: Transaction, domain: WarmingDomain, now: Date): Promise<WarmUpRow | null> {
  const row = await lock(tx, domain)
  if (!row || row.counted_from >= startOfDay(now)) return row
  await count(tx, domain, now, 0)
  return lock(tx, domain)
}

/** A single mail that another server has taken. */
export async function countSingleMail(db: Queryable, mail: { project_id: ProjectId; from: string; now: Date }): Promise<void> {
  const domain = senderDomainOf(mail.from)
  if (domain !== null) await count(db, { project_id: mail.project_id, domain }, mail.now, 1)
}

/** The same for many, in the statement that settles them: goes after a `taken` with a row of `home` (the project) and `domain` for each. */
export const countedSingleMail = (now: Date): Fragment => sql`warming as (
    select w.project_id, w.domain, s.count from warm_ups w
    join (select home, domain, count(*) from taken group by home, domain) s on s.home = w.project_id and s.domain = w.domain
    order by w.project_id, w.domain for update of w
  ), warmed as (
    ${counting(now, sql`s.count`)} from warming s where w.project_id = s.project_id and w.domain = s.domain)`

/** Goes after a `back` that returns the deliveries which were claimed and not begun, as they are now. */
export const uncountClaims = sql`uncounted as (
  update warm_ups w set sent = greatest(0, w.sent - unsent.count)
  from (
    select b.project_id, b.from_domain, count(*) from back join broadcasts b on b.project_id = back.project_id and b.id = back.broadcast_id
    where back.attempts = 0 group by b.project_id, b.from_domain
  ) unsent
  where w.project_id = unsent.project_id and w.domain = unsent.from_domain)`

export interface ClaimLimits {
  limit: number
  /** Only what has been tried before. */
  isRetryOnly: boolean
}

interface Asking {
  project_id: ProjectId
  id: BroadcastId
  from_domain: string | null
  now: Date
  limit: number
}

export interface WarmUps {
  /** Lets `claim` take as much as its domain may still send today. */
  within<Claim extends { wanted: { attempts: number }[]; taken: number }>(
    asking: Asking,
    claim: (db: Queryable, limits: ClaimLimits) => Promise<Claim>,
  ): Promise<Claim | null>
  /** Something was given back: there may be room again. */
  lookAgain(): void
}

/** Whether a domain warms up is asked so often, and not for each claim. */
const trustedForMs = 10_000
/** How often a broadcast that has to wait for tomorrow looks for what is to be tried again. */
const restMs = 30_000
const mostRemembered = 1_000

export function createWarmUps(database: Database): WarmUps {
  const warming = new Map<string, { is: boolean; at: number }>()
  const resting = new Map<BroadcastId, { since: number; until: number }>()

  const isWarming = async ({ project_id, domain }: WarmingDomain, now: Date): Promise<boolean> => {
    const key = `${project_id} ${domain}`
    const known = warming.get(key)
    // A clock that was set back must not stop the looking.
    if (known && Math.abs(now.getTime() - known.at) < trustedForMs) return known.is
    const row = await find(database, { project_id, domain })
    const is = row !== null && ceilingOn(row.started_at, now) !== null
    if (warming.size >= mostRemembered) warming.clear()
    warming.set(key, { is, at: now.getTime() })
    return is
  }

  const isResting = (id: BroadcastId, now: number): boolean => {
    const rest = resting.get(id)
    return rest !== undefined && rest.since <= now && now < rest.until
  }

  const rest = (id: BroadcastId, now: Date): void => {
    if (resting.size >= mostRemembered) resting.clear()
    resting.set(id, { since: now.getTime(), until: Math.min(now.getTime() + restMs, startOfNextDay(now).getTime()) })
  }

  return {
    async within({ project_id, id, from_domain, now, limit }, claim) {
      const free = { limit, isRetryOnly: false }
      if (from_domain === null) return claim(database, free)
      const domain = { project_id, domain: from_domain }
      if (!(await isWarming(domain, now))) return claim(database, free)
      if (isResting(id, now.getTime())) return null
      const hasRoom = leftOf(await find(database, domain), now) > 0
      const claimCounting = async (tx: Transaction) => {
        const left = leftOf(await lockToday(tx, domain, now), now)
        if (left === 0) return null
        const claimed = await claim(tx, { limit: Math.min(limit, left), isRetryOnly: false })
        const first = claimed.wanted.filter(({ attempts }) => attempts === 1).length
        if (first > 0) await count(tx, domain, now, first)
        return claimed
      }
      const counted = hasRoom ? await database.transaction(claimCounting) : null
      if (counted) return counted
      // What has been tried before counts nothing, so nobody has to wait for it.
      const claimed = await claim(database, { limit, isRetryOnly: true })
      if (claimed.taken < limit) rest(id, now)
      return claimed
    },
    lookAgain: () => resting.clear(),
  }
}

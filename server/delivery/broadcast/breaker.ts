import type { Clock } from '../../base/clock.ts'
import type { BroadcastId, ListId } from '../../base/ids.ts'
import type { Log } from '../../base/log.ts'
import type { Database, Queryable } from '../../database/database.ts'
import type { EventData } from '../../events/catalogue.ts'
import { publish } from '../../events/publish.ts'
import type { BroadcastKey } from './broadcast.ts'
import type { Settled } from './settle.ts'

/**
 * Pauses a broadcast that does more harm than good, before it has reached everybody: too many refuse it for good or report it as spam,
 * or nothing gets through. The owner is told by whoever looks for `tripped`; going on takes a person, and counts anew from there.
 */
const limits = {
  /** Before so many are settled, a share says nothing. */
  atLeast: 100,
  bounceShare: 0.05,
  /** What Gmail and Yahoo ask of senders. One or two who take the wrong button are no share: of a hundred, one would be over it. */
  complaintShare: 0.003,
  complaints: 3,
  /** So many put off one after the other, for the same reason, over so long a time with nobody reached. */
  storm: 50,
  stormMs: 60_000,
}
const lookEveryMs = 1_000
/** Longer than any wait between two attempts: it is over, one way or the other. */
const forgottenMs = 24 * 3_600_000

export interface Breaker {
  /** What became of a batch, as this process saw it. */
  watch(batch: Settled[]): void
  /** Pauses what has to be paused. Cheap to call often. */
  look(): Promise<void>
  /** For what shows while messages are put together. */
  pause(broadcast: BroadcastKey, why: string): Promise<void>
}

/** A row of deferrals for one reason that nothing has broken yet. */
interface Storm extends BroadcastKey {
  reason: string
  count: number
  since: number
  until: number
}

export function createBreaker({ database, clock, log }: { database: Database; clock: Clock; log: Log }): Breaker {
  const storms = new Map<BroadcastId, Storm>()
  let lookedAt = Number.NEGATIVE_INFINITY
  return {
    watch(batch) {
      const now = clock.now().getTime()
      for (const settled of batch) follow(storms, settled, now)
    },
    async pause({ project_id, id }, why) {
      const tripping: Tripping = { project_id, id, tripped: 'errors', reason: `Paused by itself: ${why}.` }
      if (await pause(database, tripping)) log.warn(tripping, 'a broadcast was paused by the breaker')
    },
    async look() {
      const now = clock.now().getTime()
      // A clock that was set back must not stop the looking.
      if (Math.abs(now - lookedAt) < lookEveryMs) return
      lookedAt = now
      for (const paused of await pauseByShares(database)) log.warn(paused, 'a broadcast was paused by the breaker')
      for (const [id, storm] of storms) {
        if (now - storm.until > forgottenMs) storms.delete(id)
        if (storm.count < limits.storm || storm.until - storm.since < limits.stormMs) continue
        const paused = await pauseForStorm(database, storm)
        storms.delete(id)
        if (paused) log.warn(paused, 'a broadcast was paused by the breaker')
      }
    },
  }
}

/** A yes or a bounce means that somebody answers: then it is no storm. Another reason begins another one. What failed here was asked of nobody. */
function follow(storms: Map<BroadcastId, Storm>, { delivery, outcome }: Settled, now: number): void {
  const { project_id, broadcast_id: id } = delivery
  if (outcome.kind === 'failed') return
  if (outcome.kind !== 'deferred') {
    storms.delete(id)
    return
  }
  const storm = storms.get(id)
  if (storm?.reason !== outcome.reason) storms.set(id, { project_id, id, reason: outcome.reason, count: 1, since: now, until: now })
  else {
    storm.count++
    storm.until = now
  }
}

interface Tripping extends BroadcastKey {
  tripped: 'bounces' | 'complaints' | 'errors'
  reason: string
}

interface Shares extends BroadcastKey {
  settled: number
  bounced: number
  complained: number
  is_bounces: boolean
}

async function pauseByShares(database: Database): Promise<Tripping[]> {
  const tripping = (await overTheLimits(database)).map(toTripping)
  const paused: Tripping[] = []
  for (const one of tripping) if (await pause(database, one)) paused.push(one)
  return paused
}

const overTheLimits = (db: Queryable) => db.many<Shares>`
  select *, bounced >= ${limits.bounceShare}::numeric * settled as is_bounces from (
    select project_id, id, delivered + bounced + failed + complained - forgiven_settled as settled, bounced - forgiven_bounced as bounced,
      complained - forgiven_complained as complained
    from broadcasts where status = 'sending'
  ) b
  where settled >= ${limits.atLeast} and (bounced >= ${limits.bounceShare}::numeric * settled or (complained >= ${limits.complaints} and complained >= ${limits.complaintShare}::numeric * settled))`

function toTripping({ project_id, id, settled, bounced, complained, is_bounces }: Shares): Tripping {
  const what = is_bounces ? `${bounced} of ${settled} addresses refused it for good` : `${complained} of ${settled} reported it as spam`
  const advice = is_bounces ? 'Clean the list before you go on' : 'Make sure that all of them asked for it before you go on'
  return { project_id, id, tripped: is_bounces ? 'bounces' : 'complaints', reason: `Paused by itself: ${what}. ${advice}.` }
}

async function pauseForStorm(database: Database, { project_id, id, reason, count }: Storm): Promise<Tripping | null> {
  const words = `Paused by itself: ${count} in a row were put off and nobody got it for a minute. The last answer: ${reason}.`
  const tripping: Tripping = { project_id, id, tripped: 'errors', reason: words }
  return (await pause(database, tripping)) ? tripping : null
}

type PausedRow = Omit<EventData<'post.paused'>['post'], 'sending'> & { list_id: ListId }

/** False when somebody was quicker. */
const pause = (database: Database, { project_id, id, tripped, reason }: Tripping): Promise<boolean> =>
  database.transaction(async (tx) => {
    const paused = await tx.first<PausedRow>`
      with paused as (
        update broadcasts set status = 'paused', tripped = ${tripped}, reason = ${reason}, owner_told_at = null
        where project_id = ${project_id} and id = ${id} and status = 'sending'
        returning list_id, post_id, recipients
      )
      select p.list_id, p.id, p.subject, p.status, p.source, p.needs_approval, p.created_at, p.sent_at, p.scheduled_at, paused.recipients
      from paused join posts p on p.project_id = ${project_id} and p.list_id = paused.list_id and p.id = paused.post_id`
    if (!paused) return false
    const { list_id, ...post } = paused
    await publish(tx, project_id, 'post.paused', { post_id: post.id, list_id, subject: post.subject, post: { ...post, sending: true } })
    return true
  })

import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Database } from '../database/database.ts'

/**
 * Requests per key (or per address without one) in windows of a clock minute. Each process counts in memory and settles with the
 * others through one small table several times a second, so that the limit holds across nodes without a write per request.
 */
export interface RateLimit {
  take(subject: string): Allowance
  stop(): void
}

export interface Allowance {
  allowed: boolean
  limit: number
  remaining: number
  /** Unix seconds at which the window ends. */
  reset: number
  retry_after: number
}

interface Count {
  /** What all nodes together had used when we last settled. */
  settled: number
  /** What we have let through since. */
  fresh: number
}

const windowMs = 60_000
const settleEveryMs = 250

export function startRateLimit({ database, clock, log, limit }: { database: Database; clock: Clock; log: Log; limit: number }): RateLimit {
  let windowStart = 0
  let counts = new Map<string, Count>()

  let cleanedFor = 0
  const settle = async () => {
    const window = new Date(windowStart)
    if (cleanedFor !== windowStart) {
      cleanedFor = windowStart
      await database.run`delete from rate_windows where window_start < ${window}`
    }
    const due = [...counts].filter(([, count]) => count.fresh > 0).map(([subject, count]) => ({ subject, count, used: count.fresh }))
    if (due.length === 0) return
    const totals = await database.many<{ subject: string; used: number }>`
      insert into rate_windows as w (subject, window_start, used)
      select subject, ${window}, used from unnest(${due.map((d) => d.subject)}::text[], ${due.map((d) => d.used)}::bigint[]) as due (subject, used)
      order by subject
      on conflict (subject, window_start) do update set used = w.used + excluded.used
      returning subject, used`
    const used = new Map(totals.map((total) => [total.subject, total.used]))
    for (const { subject, count, used: counted } of due) {
      count.fresh -= counted
      // Never less than what we know of: another node's clock may have cleared the window too early.
      count.settled = Math.max(used.get(subject) ?? 0, count.settled + counted)
    }
  }

  let settling = false
  const timer = setInterval(() => {
    if (settling) return
    settling = true
    settle()
      .catch((error: Error) => log.debug({ reason: error.message }, 'rate windows are settled later'))
      .finally(() => {
        settling = false
      })
  }, settleEveryMs)
  timer.unref()

  return {
    take(subject) {
      const now = clock.now().getTime()
      const start = now - (now % windowMs)
      if (start !== windowStart) {
        windowStart = start
        counts = new Map()
      }
      let count = counts.get(subject)
      if (!count) {
        count = { settled: 0, fresh: 0 }
        counts.set(subject, count)
      }
      const used = count.settled + count.fresh
      const allowed = used < limit
      if (allowed) count.fresh++
      const end = start + windowMs
      return {
        allowed,
        limit,
        remaining: Math.max(0, limit - used - (allowed ? 1 : 0)),
        reset: end / 1000,
        retry_after: Math.max(1, Math.ceil((end - now) / 1000)),
      }
    },
    stop: () => clearInterval(timer),
  }
}

/** How often domains are looked at, and for how long one may lack something before it counts as gone. */

export const minuteMs = 60_000
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs

export const since = (start: Date, now: Date): number => now.getTime() - start.getTime()
export const later = (now: Date, ms: number): Date => new Date(now.getTime() + ms)

/** Of one that is not in use: what is watched closely is what somebody is working at. */
export function nextCheckOfOpen(pending_since: Date, now: Date): Date {
  const age = since(pending_since, now)
  if (age < hourMs) return later(now, minuteMs)
  if (age < dayMs) return later(now, 5 * minuteMs)
  return later(now, age < 30 * dayMs ? hourMs : dayMs)
}

export const nextCheckInUse = ({ failing_since }: Pick<Misses, 'failing_since'>, now: Date): Date =>
  later(now, failing_since ? hourMs : 6 * hourMs)

const longestSilenceMs = 15 * minuteMs

interface Pause {
  last_checked_at: Date | null
  now: Date
}

/** Of one whose name servers do not answer: they take up a place for seconds each time, so each pause is twice the one before. */
export function nextCheckOfSilent(usual: Date, { last_checked_at, now }: Pause): Date {
  const pauseMs = last_checked_at === null ? 0 : Math.min(2 * since(last_checked_at, now), longestSilenceMs)
  return new Date(Math.max(usual.getTime(), now.getTime() + pauseMs))
}

/** Since when something of a domain in use is missing, and how many checks have missed it. */
export interface Misses {
  failing_since: Date | null
  missed_checks: number
}

export const noMisses: Misses = { failing_since: null, missed_checks: 0 }

const goneMs = dayMs
const goneChecks = 3

/** Once more. What name servers did not answer is no miss. */
export function countMiss(before: Misses, now: Date): Misses & { isGone: boolean } {
  const failing_since = before.failing_since ?? now
  const missed_checks = before.missed_checks + 1
  return { failing_since, missed_checks, isGone: missed_checks >= goneChecks && since(failing_since, now) >= goneMs }
}

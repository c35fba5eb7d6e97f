/**
 * Receivers trust a domain that they have never seen with little mail. For fourteen days a new one sends so much a day and no more:
 * 200 on the first, and each day twice as much as on the day before. Days are those of UTC, and the one on which it began is the first.
 */
const firstCeiling = 200
const warmUpDays = 14
const dayMs = 86_400_000

/** What is kept of a domain's warm-up. */
export interface WarmUpRow {
  started_at: Date
  /** The beginning of the day that `sent` counts. */
  counted_from: Date
  sent: number
}

export const startOfDay = (at: Date): Date => new Date(Math.floor(at.getTime() / dayMs) * dayMs)
export const startOfNextDay = (at: Date): Date => new Date(startOfDay(at).getTime() + dayMs)

/** How much the domain may send today; null when it may send as much as it likes. */
export function ceilingOn(started_at: Date, now: Date): number | null {
  const day = Math.max(0, Math.round((startOfDay(now).getTime() - startOfDay(started_at).getTime()) / dayMs))
  return day < warmUpDays ? firstCeiling * 2 ** day : null
}

/** What has been sent today. A count of a day to come is some other clock's today: it counts rather than nothing. */
export const sentToday = ({ counted_from, sent }: WarmUpRow, now: Date): number => (counted_from < startOfDay(now) ? 0 : sent)

export interface WarmUpToday {
  ceiling: number
  sent_today: number
  /** When the rest goes out; null while there is room today. */
  continues_at: Date | null
}

/** How far the warm-up is; null when it is over. */
export function warmUpToday(row: WarmUpRow, now: Date): WarmUpToday | null {
  const ceiling = ceilingOn(row.started_at, now)
  if (ceiling === null) return null
  const sent_today = sentToday(row, now)
  return { ceiling, sent_today, continues_at: sent_today < ceiling ? null : startOfNextDay(now) }
}

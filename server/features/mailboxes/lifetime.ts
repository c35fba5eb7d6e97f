import { z } from 'zod'
import { invalid } from '../../base/errors.ts'

const daySeconds = 86_400
const maxDays = 30
const tooLong = `must be at most ${maxDays} days`
const wrongForm = 'must be a duration such as 45m, 6h, 24h or 7d, or a whole number of seconds'
const unitSeconds: Record<string, number> = { '': 1, s: 1, m: 60, h: 3600, d: daySeconds }

/** `45m`, `24h`, `7d`, `3600` or 3600 on the wire; seconds inside. */
export const ttl = z.union([z.string(), z.number()], { error: wrongForm }).transform((given, context): number => {
  const [, count, unit = ''] = /^(\d{1,9}) ?([smhd]?)$/.exec(String(given).trim().toLowerCase()) ?? []
  const seconds = Number(count) * (unitSeconds[unit] ?? Number.NaN)
  if (seconds >= 1 && seconds <= maxDays * daySeconds) return seconds
  const message = Number.isNaN(seconds) ? wrongForm : seconds < 1 ? 'must be at least a second' : tooLong
  context.addIssue({ code: 'custom', input: given, message })
  return z.NEVER
})

interface Lifetime {
  type: 'persistent' | 'disposable' | 'proxy'
  ttl?: number | undefined
  expires_at?: Date | undefined
}

/** When a new mailbox ends; null: it stays. */
export function endOf({ type, ttl: seconds, expires_at }: Lifetime, now: Date): Date | null {
  if (seconds !== undefined && expires_at !== undefined) throw invalid('expires_at', 'says the same as ttl; give one of the two')
  if (expires_at) return checkEnd(expires_at, now)
  const lifeSeconds = seconds ?? (type === 'disposable' ? daySeconds : null)
  return lifeSeconds === null ? null : new Date(now.getTime() + lifeSeconds * 1000)
}

/** The caller's clock may be a little ahead of ours: 30 days by theirs are 30 days. */
const clockSlackMs = 60_000

export function checkEnd(expires_at: Date, now: Date): Date {
  if (expires_at <= now) throw invalid('expires_at', 'must be in the future')
  if (expires_at.getTime() > now.getTime() + maxDays * daySeconds * 1000 + clockSlackMs)
    throw invalid('expires_at', `must be at most ${maxDays} days ahead`)
  return expires_at
}

import { testType } from '../webhook.ts'
import type { CallOutcome } from './call-endpoint.ts'
import type { Due } from './next-deliveries.ts'

/** What an attempt makes of its delivery, and of its webhook. */
export interface Consequence {
  status: 'delivered' | 'failed' | 'pending'
  next_at: Date | null
  /** What the webhook's row of failures hears of: a yes, or an event whose attempts are used up. */
  counts: 'delivered' | 'failed' | null
  /** The endpoint said that it is gone for good. */
  isGone: boolean
}

interface Rules {
  /** Waits after the first attempt, the second, … One more attempt than waits. */
  backoffSeconds: readonly number[]
  /** From 0 up to 1. */
  chance: number
}

const longestWaitMs = 3_600_000
const jitter = 0.2
const gone = 410

/** After `attempt` attempts before this one. Nobody is made to wait for less than they asked, or for longer than an hour. */
export function whatFollows(
  { attempt, event_type }: Pick<Due, 'attempt' | 'event_type'>,
  { status, http_status, retry_after_ms, attempted_at, duration_ms }: CallOutcome,
  { backoffSeconds, chance }: Rules,
): Consequence {
  const isTest = event_type === testType
  const isGone = http_status === gone && !isTest
  if (status === 'delivered') return { status, next_at: null, counts: isTest ? null : 'delivered', isGone }
  const wait = backoffSeconds[attempt]
  if (isTest || isGone || wait === undefined) return { status: 'failed', next_at: null, counts: isTest ? null : 'failed', isGone }
  const waitMs = Math.max(wait * 1_000 * (1 - jitter + 2 * jitter * chance), Math.min(retry_after_ms ?? 0, longestWaitMs))
  return { status: 'pending', next_at: new Date(attempted_at.getTime() + duration_ms + waitMs), counts: null, isGone }
}

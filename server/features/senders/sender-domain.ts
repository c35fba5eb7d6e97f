import type { ProjectId } from '../../base/ids.ts'
import {
  countMiss,
  hourMs,
  later,
  type Misses,
  minuteMs,
  nextCheckInUse,
  nextCheckOfOpen,
  noMisses,
  type Outcome,
  since,
} from '../dns-records/index.ts'
import type { Diagnosis } from './diagnose.ts'

/**
 * A domain is `pending` until all required records are found, and then `verified`. It has `failed` when 72 hours have passed without
 * them, or a record that stands in their way was seen twice, five minutes apart or more. A verified one has failed when records were
 * missed in three checks over 24 hours; what name servers did not answer counts for nothing. A failed domain is looked at on and on, ever
 * less often: it is verified when its records are there. To set it up again, or to ask for a check, begins a new try.
 *
 * A domain that was verified and has failed is lost (`verified_at` stays): posts wait for it, because readers and receivers know the
 * list by it. Until a domain is verified for the first time, the list sends from its default address.
 */
export interface SenderDomainRow extends DomainState {
  project_id: ProjectId
  domain: string
  findings: Diagnosis | Record<string, never>
  created_at: Date
  last_checked_at: Date | null
  next_check_at: Date
}

export interface DomainState extends Misses {
  status: 'pending' | 'verified' | 'failed'
  pending_since: Date
  verified_at: Date | null
  conflict_since: Date | null
  trouble: 'late' | 'conflict' | 'gone' | 'taken' | null
}

const pendingMs = 72 * hourMs
const conflictMs = 5 * minuteMs

/** The state after a check. */
export function afterCheck(state: DomainState, outcome: Outcome, now: Date): DomainState {
  if (outcome === 'unknown') return afterSilence(state, now)
  if (outcome === 'found') return verified(state, now)
  if (state.status === 'verified') return afterMiss(state, now)
  const conflict_since = outcome === 'conflict' ? (state.conflict_since ?? now) : null
  // All was there when it was said to be another's.
  const next = { ...state, conflict_since, trouble: state.trouble === 'taken' ? null : state.trouble }
  if (state.status === 'failed') return next
  if (conflict_since !== null && since(conflict_since, now) >= conflictMs) return { ...next, status: 'failed', trouble: 'conflict' }
  return afterSilence(next, now)
}

const verified = (state: DomainState, now: Date): DomainState => ({
  ...state,
  status: 'verified',
  verified_at: state.status === 'verified' ? state.verified_at : now,
  ...noMisses,
  conflict_since: null,
  trouble: null,
})

const afterMiss = (state: DomainState, now: Date): DomainState => {
  const { isGone, ...misses } = countMiss(state, now)
  return isGone ? { ...state, ...misses, status: 'failed', trouble: 'gone', pending_since: now } : { ...state, ...misses }
}

/** Time passes for a pending domain whatever its name servers say. */
const afterSilence = (state: DomainState, now: Date): DomainState =>
  state.status === 'pending' && since(state.pending_since, now) >= pendingMs ? { ...state, status: 'failed', trouble: 'late' } : state

/** All is there, and another project has the domain. */
export const afterTaken = (state: DomainState, now: Date): DomainState => ({
  ...afterSilence(state, now),
  conflict_since: null,
  trouble: 'taken',
})

/** Somebody has mended something, or says so: the three days begin anew. */
export const tryAgain = (state: DomainState, now: Date): DomainState =>
  state.status === 'failed' ? { ...state, status: 'pending', pending_since: now, conflict_since: null, trouble: null } : state

export function nextCheck(state: DomainState, { now, hasNewKey }: { now: Date; hasNewKey: boolean }): Date {
  if (state.status !== 'verified') return nextCheckOfOpen(state.pending_since, now)
  return hasNewKey ? later(now, 5 * minuteMs) : nextCheckInUse(state, now)
}

/** It was verified once, and is not now. */
export const isLost = ({ status, verified_at }: Pick<DomainState, 'status' | 'verified_at'>): boolean =>
  status !== 'verified' && verified_at !== null

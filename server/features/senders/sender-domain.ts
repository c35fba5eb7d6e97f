import type { ProjectId } from '../../base/ids.ts'
import type { Diagnosis } from './diagnose.ts'
import type { WantedRecord } from './records.ts'

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

export interface DomainState {
  status: 'pending' | 'verified' | 'failed'
  pending_since: Date
  verified_at: Date | null
  failing_since: Date | null
  missed_checks: number
  conflict_since: Date | null
  trouble: 'late' | 'conflict' | 'gone' | 'taken' | null
}

/** What a check has found, of all required records together. */
export type Outcome = 'found' | 'missing' | 'conflict' | 'unknown'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

const pendingMs = 72 * hourMs
const conflictMs = 5 * minuteMs
const goneMs = 24 * hourMs
const goneChecks = 3

export function outcomeOf(wanted: WantedRecord[], { findings }: Diagnosis): Outcome {
  const states = wanted.filter(({ isRequired }) => isRequired).map(({ key }) => findings[key]?.state ?? 'unknown')
  if (states.includes('conflict')) return 'conflict'
  if (states.includes('missing') || states.includes('wrong')) return 'missing'
  return states.includes('unknown') ? 'unknown' : 'found'
}

const since = (start: Date, now: Date): number => now.getTime() - start.getTime()

/** The state after a check. */
export function afterCheck(state: DomainState, outcome: Outcome, now: Date): DomainState {
  if (outcome === 'unknown') return afterSilence(state, now)
  if (outcome === 'found') return verified(state, now)
  if (state.status === 'verified') return afterMiss(state, now)
  const conflict_since = outcome === 'conflict' ? (state.conflict_since ?? now) : null
  const next = { ...state, conflict_since }
  if (state.status === 'failed') return next
  if (conflict_since !== null && since(conflict_since, now) >= conflictMs) return { ...next, status: 'failed', trouble: 'conflict' }
  return afterSilence(next, now)
}

const verified = (state: DomainState, now: Date): DomainState => ({
  ...state,
  status: 'verified',
  verified_at: state.status === 'verified' ? state.verified_at : now,
  failing_since: null,
  missed_checks: 0,
  conflict_since: null,
  trouble: null,
})

const afterMiss = (state: DomainState, now: Date): DomainState => {
  const failing_since = state.failing_since ?? now
  const missed_checks = state.missed_checks + 1
  if (missed_checks < goneChecks || since(failing_since, now) < goneMs) return { ...state, failing_since, missed_checks }
  return { ...state, status: 'failed', trouble: 'gone', failing_since, missed_checks, pending_since: now }
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

/** What is watched closely is what somebody is working at. */
export function nextCheck(
  { status, pending_since, failing_since }: DomainState,
  { now, hasNewKey }: { now: Date; hasNewKey: boolean },
): Date {
  const later = (ms: number) => new Date(now.getTime() + ms)
  if (status === 'verified') return later(hasNewKey ? 5 * minuteMs : failing_since ? hourMs : 6 * hourMs)
  const age = since(pending_since, now)
  if (age < hourMs) return later(minuteMs)
  if (age < dayMs) return later(5 * minuteMs)
  return later(age < 30 * dayMs ? hourMs : dayMs)
}

/** It was verified once, and is not now. */
export const isLost = ({ status, verified_at }: Pick<DomainState, 'status' | 'verified_at'>): boolean =>
  status !== 'verified' && verified_at !== null

import type { ProjectId } from '../../base/ids.ts'

/** How a host is proved to be ours: by a file that the authority fetches from it, or by a TXT record. */
export type ChallengeKind = 'http-01' | 'dns-01'

/**
 * An order and its steps, each of which is one question to the authority; steps.ts has what each does. Killed in between, the next
 * process asks the same question again, and the answer says how far things are.
 *
 *   idle ──► ordered ──► proving ──► checking ──► finalizing ──► issuing ──► downloading ──► idle, with a certificate
 *                 └──────── known already ───────────►┘   (or, where the owner has to prove it, ordered once more: place-order.ts)
 *   Any of them ──► idle, with a problem and a time to try again.
 */
export type Step = 'idle' | 'ordered' | 'proving' | 'checking' | 'finalizing' | 'issuing' | 'downloading'

/** What is known of the order under way. */
export interface OpenOrder {
  url: string
  authorization: string
  finalize: string
  /** By when it must be proved; the authority forgets it then. */
  expires_at: string
  http?: { url: string; token: string }
  dns?: { url: string; value: string }
  /** By which of the two the authority was told to look. */
  asked?: ChallengeKind
  /** The order before it would have shown nothing about whose the host is, and was given up. */
  isAnew?: true
  /** The TXT value of that order, which others may have been told. */
  refused?: string
  /** Its own TXT value others may have been told as well: that the record is there shows nothing. */
  isShared?: true
  certificate?: string
  /** How often it had to go back to an earlier step. */
  turns?: number
}

export interface CertificateRow {
  host: string
  project_id: ProjectId | null
  target: string | null
  challenges: ChallengeKind[]
  private_key: Buffer | null
  chain: string | null
  not_before: Date | null
  not_after: Date | null
  issued_at: Date | null
  renew_at: Date | null
  is_proved: boolean
  step: Step
  step_since: Date
  /** While it is idle, the one that the certificate came of. */
  ordered: OpenOrder | null
  order_key: Buffer | null
  due_at: Date
  held_until: Date | null
  failures: number
  failed_at: Date[]
  begun_at: Date[]
  troubles: number
  problem: string | null
  warnings: number
  created_at: Date
}

/** What an owner may know of it. */
export interface CertificateView {
  host: string
  /**
   * `waiting`: for DNS, which the owner changes. `ordering`: the authority is at it. `failed`: the last try came to nothing, and another
   * follows. One that is issued stays so while it is renewed.
   */
  status: 'waiting' | 'ordering' | 'failed' | 'issued'
  not_after: Date | null
  /** A TXT record that an order for this project asked for was there; the certificate alone does not say so. */
  is_proved: boolean
  /** The record by which the host may be proved; the value is another one after the order has run out. */
  txt: { name: string; value: string } | null
  /** In words for the owner. */
  problem: string | null
  /** Orders in a row that came to nothing. */
  failures: number
}

export function viewOf(row: CertificateRow): CertificateView {
  const { host, not_after, is_proved, problem, failures, ordered } = row
  const txt =
    ordered?.dns && ['proving', 'checking'].includes(row.step) ? { name: `_acme-challenge.${host}`, value: ordered.dns.value } : null
  return { host, status: statusOf(row), not_after, is_proved, txt, problem, failures }
}

function statusOf({ chain, step, problem, failures }: CertificateRow): CertificateView['status'] {
  if (chain !== null) return 'issued'
  if (step === 'proving') return 'waiting'
  if (step !== 'idle') return 'ordering'
  if (failures > 0) return 'failed'
  return problem === null ? 'ordering' : 'waiting'
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs

/** After an order that came to nothing: the first, the second, and every later one. */
const retryMs = [hourMs, 4 * hourMs, dayMs]
/** Let's Encrypt refuses a host for an hour after five failed checks; other authorities are no more patient. */
export const mostFailuresAnHour = 5
/** Whatever the reason: the whole installation shares what the authority gives to one account. */
export const mostOrdersAnHour = 5
/** An order that ends sooner than this has ended by our clock alone. */
const shortestOrderMs = 10 * minuteMs

export const laterBy = (now: Date, ms: number): Date => new Date(now.getTime() + ms)

export const nextTryAfterFailure = (failures: number, now: Date): Date =>
  laterBy(now, retryMs[Math.min(failures, retryMs.length) - 1] ?? hourMs)

/** The authority, or the way to it, is in trouble: soon, then less and less often. */
export const nextTryAfterTrouble = (troubles: number, now: Date): Date =>
  laterBy(now, Math.min(hourMs, 10_000 * 2 ** Math.min(troubles, 10)))

/** For what the owner has to change in DNS: every minute at first. */
export function nextLook(since: Date, now: Date): Date {
  const ageMs = now.getTime() - since.getTime()
  return laterBy(now, ageMs < hourMs ? minuteMs : ageMs < dayMs ? 5 * minuteMs : 15 * minuteMs)
}

/** When the owner who presses "check" gets another try; five failures an hour are the bound for them as well. */
export function earliestTry({ failed_at, held_until }: Pick<CertificateRow, 'failed_at' | 'held_until'>, now: Date): Date {
  const allowed = whenFewerThan(mostFailuresAnHour, failed_at, now)
  return held_until !== null && held_until > allowed ? held_until : allowed
}

/** What counts against a host, whatever became of its certificates. */
export type Bound = Pick<CertificateRow, 'begun_at' | 'held_until'>

/** When another order may be placed, whoever asks and whatever went wrong: the bound that no step and no bug gets past. */
export function earliestOrder({ begun_at, held_until }: Bound, now: Date): Date {
  const allowed = whenFewerThan(mostOrdersAnHour, begun_at, now)
  return held_until !== null && held_until > allowed ? held_until : allowed
}

function whenFewerThan(most: number, times: Date[], now: Date): Date {
  const lately = within(hourMs, times, now).sort((a, b) => a.getTime() - b.getTime())
  const first = lately.length >= most ? lately.at(-most) : undefined
  return first ? laterBy(first, hourMs) : now
}

/** A time to come was written by a clock that was wrong, and counts for nothing. */
const within = (ms: number, times: Date[], now: Date): Date[] => times.filter((at) => at <= now && now.getTime() - at.getTime() < ms)

/** When the next order follows by itself on one that has run out: an hour after that was placed, or now. */
export const orderAfter = ({ begun_at }: Pick<CertificateRow, 'begun_at'>, now: Date): Date => {
  const [last] = within(hourMs, begun_at.slice(-1), now)
  return last ? laterBy(last, hourMs) : now
}

/** Whether the order under way was placed a moment ago. */
export const hasJustBegun = ({ begun_at }: Pick<CertificateRow, 'begun_at'>, now: Date): boolean =>
  within(shortestOrderMs, begun_at.slice(-1), now).length > 0

/** Whether the order under way is not the first attempt of late. */
export const isRepeated = ({ begun_at, failures }: Pick<CertificateRow, 'begun_at' | 'failures'>, now: Date): boolean =>
  failures > 0 || within(dayMs, begun_at, now).length > 1

/** Two thirds of its life, less a little that chance decides, so that certificates of one day do not all come back on one day. */
export function renewalTime({ not_before, not_after }: { not_before: Date; not_after: Date }, chance: number): Date {
  const lifeMs = not_after.getTime() - not_before.getTime()
  return new Date(not_before.getTime() + lifeMs * (2 / 3 - chance / 30))
}

interface Window {
  start: Date
  end: Date
}

/**
 * RFC 9773 section 4.2: some time in the window, chosen once. What the authority says never leads past five sixths of its life, nor to a new
 * one on the day it was issued.
 */
export function renewalTimeWithin(
  { start, end }: Window,
  row: { not_before: Date; not_after: Date; issued_at: Date; renew_at: Date },
  chance: number,
): Date {
  const lifeMs = row.not_after.getTime() - row.not_before.getTime()
  const latest = row.not_before.getTime() + lifeMs * (5 / 6)
  const soonest = row.issued_at.getTime() + Math.min(dayMs, lifeMs / 3)
  const isChosen = row.renew_at >= start && row.renew_at <= end
  const chosen = isChosen ? row.renew_at.getTime() : start.getTime() + (end.getTime() - start.getTime()) * chance
  return new Date(Math.min(Math.max(chosen, soonest), latest))
}

/** How many times the owner should have been told by now: when a sixth of its life is left, and when a thirtieth is. */
export function warningsDue({ not_before, not_after }: { not_before: Date; not_after: Date }, now: Date): 0 | 1 | 2 {
  const lifeMs = not_after.getTime() - not_before.getTime()
  const leftMs = not_after.getTime() - now.getTime()
  return leftMs > lifeMs / 6 ? 0 : leftMs > lifeMs / 30 ? 1 : 2
}

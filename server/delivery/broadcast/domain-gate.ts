import { domainToASCII } from 'node:url'
import type { DomainLimit } from '../../base/domain-limit.ts'
import { longestRestMs, type Patience, refusalsInARow, restMsAfter, takenInARow } from '../domain-limits.ts'
import { TokenBucket } from '../smtp/token-bucket.ts'
import type { Transport } from '../transports/index.ts'

/**
 * Who may go now, by the recipient's domain, in this process. Three things hold a domain: a limit that was set for it (DOMAIN_LIMITS), its
 * servers, where mail goes to them without a relay (what waits for a slow one does so here, and takes nobody's place), and its own answers. Asked to slow down several times in a row, it rests; after a rest one message is tried alone, and when that is
 * refused, too, it rests for longer. Times are ms of one clock, which may jump.
 */
interface Domain {
  limit: DomainLimit | null
  bucket: TokenBucket | null
  underWay: number
  /** How often it has rested since it was trusted last; in a row: refused, and taken. */
  rests: number
  refused: number
  taken: number
  /** After a rest, until one was taken. */
  isOnTrial: boolean
  restsUntil: number
  /** When it is worth asking again; infinite while that depends on what is under way. */
  opensAt: number
  /** Until when its places are given away. */
  bookedUntil: number
  touchedAt: number
  /** One is done every so many ms, as seen lately. */
  everyMs: number
  doneAt: number
}

const forgottenMs = 3_600_000
/** Nothing is put off for longer: by then a limit may have been raised, or another process may have room. */
const longestPutOffMs = 3_600_000
/** Where nothing says how long it takes. */
const whileOnTrialMs = 10_000
/** Of one domain at once, where servers are asked: what is on its way to them does not show there yet. */
const mostToServer = 30
const askServerAgainMs = 250
/** A guess for a domain that has not shown how fast it is: too fast is put right by the next look, too slow would hold up the mail. */
const firstEveryMs = 2
/** Where servers are asked, work for so long is kept at hand. */
const atHandMs = 5_000
const sweepFrom = 1_000

export class DomainGate {
  readonly #named: ReadonlyMap<string, DomainLimit>
  readonly #others: DomainLimit | null
  readonly #domains = new Map<string, Domain>()
  readonly #troubled = new Set<string>()
  readonly #servers: Pick<Transport, 'hasRoomFor'>
  #sweepAt = sweepFrom

  constructor(limits: readonly DomainLimit[] = [], servers: Pick<Transport, 'hasRoomFor'> = {}) {
    this.#servers = servers
    this.#named = new Map(limits.map((limit) => [limit.domain, limit]))
    this.#others = this.#named.get('*') ?? null
  }

  /** Nobody has to wait for anything: whoever would ask need not. */
  get isOpen(): boolean {
    return this.#named.size === 0 && this.#troubled.size === 0 && !this.#asksServers
  }

  get #asksServers(): boolean {
    return this.#servers.hasRoomFor !== undefined
  }

  tryTake(name: string, now: number): boolean {
    const domain = this.#find(name, now)
    if (!domain) return true
    if (isResting(domain, now)) domain.opensAt = domain.restsUntil
    else if (domain.underWay >= this.#mostAtOnce(domain)) domain.opensAt = Number.POSITIVE_INFINITY
    else if (this.#servers.hasRoomFor?.(name) === false)
      // With none of its own under way, others fill its server, and nobody tells when they are done.
      domain.opensAt = domain.underWay > 0 ? Number.POSITIVE_INFINITY : now + askServerAgainMs
    else {
      const waitMs = domain.bucket?.take(now) ?? 0
      if (waitMs === 0) {
        domain.underWay++
        return true
      }
      domain.opensAt = now + waitMs
    }
    return false
  }

  /** For mail that is not held by anything: it counts, and the others wait a little longer. */
  spend(name: string, now: number): void {
    this.#find(name, now)?.bucket?.takeAnyway(now)
  }

  /** Whether what `tryTake` has just let through is counted as under way, and `done` has to be told of its end; others are only heard. */
  counts(name: string): boolean {
    return this.#domains.has(name)
  }

  done(name: string, patience: Patience, now: number): void {
    const domain = this.#domains.get(name)
    if (domain) {
      domain.underWay--
      domain.everyMs += (Math.min(Math.max(now - domain.doneAt, 0), 1_000) - domain.everyMs) / 10
      domain.doneAt = now
    }
    this.hear(name, patience, now)
    if (domain) this.#forgetIfPlain(name, domain)
  }

  hear(name: string, patience: Patience, now: number): void {
    if (patience === 'slow_down') this.#onRefused(name, now)
    if (patience === 'fine' && this.#troubled.has(name)) this.#onTaken(name)
  }

  /** After a no: when it is worth asking again. */
  nextAt(name: string): number {
    return this.#domains.get(name)?.opensAt ?? 0
  }

  /** How many to keep at hand: what can go in the time that it takes to get more. */
  roomFor(name: string): number {
    const domain = this.#domains.get(name)
    if (domain?.limit) return Math.max(20, Math.ceil(2 * domain.limit.rate))
    return domain && this.#asksServers ? Math.min(Math.max(50, Math.ceil(atHandMs / domain.everyMs)), 1_000) : 50
  }

  /** A time for one that cannot be kept at hand: the next that nobody else was given. */
  place(name: string, now: number): number {
    const domain = this.#find(name, now)
    if (!domain) return now
    const { afterMs, everyMs } = this.#paceOf(name, domain)
    const from = isResting(domain, now) ? domain.restsUntil : now + afterMs
    const placed = Math.min(Math.max(domain.bookedUntil, from) + everyMs, now + longestPutOffMs)
    if (everyMs > 0) domain.bookedUntil = placed
    return placed
  }

  /** When those at hand will have gone, and how one goes after the other then. */
  #paceOf(name: string, { limit, isOnTrial, everyMs }: Domain): { afterMs: number; everyMs: number } {
    if (limit) return { afterMs: 2_000, everyMs: 1000 / limit.rate }
    if (isOnTrial || !this.#asksServers) return { afterMs: whileOnTrialMs, everyMs: 0 }
    return { afterMs: Math.max(atHandMs, this.roomFor(name) * everyMs), everyMs }
  }

  #mostAtOnce({ limit, isOnTrial }: Domain): number {
    return isOnTrial ? 1 : (limit?.concurrency ?? (this.#asksServers ? mostToServer : Number.POSITIVE_INFINITY))
  }

  #find(name: string, now: number): Domain | null {
    const known = this.#domains.get(name)
    if (known) {
      known.touchedAt = now
      return known
    }
    const limit = this.#named.get(name) ?? this.#others
    return limit || this.#asksServers ? this.#add(name, limit, now) : null
  }

  #add(name: string, limit: DomainLimit | null, now: number): Domain {
    if (this.#domains.size >= this.#sweepAt) this.#sweep(now)
    const bucket = limit ? new TokenBucket(limit.rate, now) : null
    const counts = { underWay: 0, rests: 0, refused: 0, taken: 0 }
    const times = { restsUntil: 0, opensAt: 0, bookedUntil: 0, touchedAt: now, everyMs: firstEveryMs, doneAt: now }
    const domain: Domain = { limit, bucket, ...counts, ...times, isOnTrial: false }
    this.#domains.set(name, domain)
    return domain
  }

  #onRefused(name: string, now: number): void {
    const domain = this.#find(name, now) ?? this.#add(name, null, now)
    this.#troubled.add(name)
    domain.taken = 0
    // It was under way before the rest began, and says nothing new.
    if (isResting(domain, now)) return
    domain.refused++
    if (domain.refused < refusalsInARow && !domain.isOnTrial) return
    domain.rests++
    domain.refused = 0
    domain.isOnTrial = true
    domain.restsUntil = now + restMsAfter(domain.rests)
  }

  #onTaken(name: string): void {
    const domain = this.#domains.get(name) as Domain // whoever is troubled is there
    domain.refused = 0
    domain.isOnTrial = false
    domain.restsUntil = 0
    domain.taken++
    if (domain.rests > 0 && domain.taken < takenInARow) return
    domain.rests = 0
    domain.taken = 0
    this.#troubled.delete(name)
    this.#forgetIfPlain(name, domain)
  }

  /** Not while some of it are under way: begun anew, it would take their ends for those of others. */
  #forgetIfPlain(name: string, { limit, underWay, bookedUntil }: Domain): void {
    if (!limit && underWay === 0 && bookedUntil === 0 && !this.#troubled.has(name)) this.#domains.delete(name)
  }

  /** With `*`, every domain of the world may come by. */
  #sweep(now: number): void {
    for (const [name, { underWay, touchedAt, bookedUntil }] of this.#domains) {
      const restedMs = Math.abs(now - touchedAt)
      if (underWay > 0 || bookedUntil > now || restedMs < (this.#troubled.has(name) ? forgottenMs : 10_000)) continue
      this.#domains.delete(name)
      this.#troubled.delete(name)
    }
    this.#sweepAt = Math.max(sweepFrom, 2 * this.#domains.size)
  }
}

/** A clock that was set back must not make a rest longer. */
const isResting = ({ restsUntil }: Domain, now: number): boolean => now < restsUntil && restsUntil - now <= longestRestMs

/** The recipient's, as DOMAIN_LIMITS names it. */
export function domainOf(email: string): string {
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase()
  return /[^\0-\x7f]/.test(domain) ? domainToASCII(domain) : domain
}

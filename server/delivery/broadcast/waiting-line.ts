import type { Clock } from '../../base/clock.ts'
import type { BroadcastId } from '../../base/ids.ts'
import { type Patience, patienceOf } from '../domain-limits.ts'
import { FairQueue } from '../smtp/fair-queue.ts'
import type { Outcome } from '../transports/index.ts'
import type { Claimed } from './broadcast.ts'
import { type DomainGate, domainOf } from './domain-gate.ts'

/** Deliveries of one domain that has to wait, in the order they came. */
interface Lane {
  domain: string
  items: Claimed[]
  /** Ready to be asked for; or waiting for a time, or for one of its own that is under way. */
  state: 'ready' | 'timed' | 'blocked'
  at: number
}

/** A broadcast that has less than this at hand would run dry between two claims. */
const leastShare = 200
/** Over all domains together; for one of them, `roomFor` says. */
const mostParked = 2_000

/**
 * What was claimed and has not begun. Broadcasts take turns. As long as no domain has to wait that is all. A delivery whose domain may not go
 * is parked behind others of its domain, once, and those behind it go on: nobody looks at it again before its domain's time has
 * come. What is more than can be kept at hand gets a time in the ledger (`putOff`).
 */
export class WaitingLine {
  readonly #gate: DomainGate
  readonly #clock: Clock
  readonly #front = new FairQueue<Claimed>(({ broadcast_id }) => broadcast_id)
  /** Those that were taken and are counted by the gate: the gate may close and open while they are under way. */
  readonly #counted = new WeakSet<Claimed>()
  readonly #lanes = new Map<string, Lane>()
  #ready: Lane[] = []
  /** The soonest last. */
  #timed: Lane[] = []
  #parked = 0
  #lookedAt = 0
  #surplus: { delivery: Claimed; at: Date }[] = []

  constructor(gate: DomainGate, clock: Clock) {
    this.#gate = gate
    this.#clock = clock
  }

  /** How many wait for nothing but their turn. */
  get length(): number {
    return this.#front.length
  }

  /** The same of one broadcast. */
  lengthOf(id: BroadcastId): number {
    return this.#front.lengthOf(id)
  }

  /** How many of one broadcast should wait here at most, so that all that are here together are about as many as that. */
  shareOf(id: BroadcastId, of: number): number {
    const others = this.#front.lanes - (this.#front.lengthOf(id) > 0 ? 1 : 0)
    return Math.max(leastShare, Math.floor(of / (others + 1)))
  }

  get isEmpty(): boolean {
    return this.#front.length + this.#parked + this.#surplus.length === 0
  }

  /** In how many ms to come again because of those who wait for a time; null when nobody does. */
  get waitMs(): number | null {
    const soonest = this.#timed.at(-1)
    return soonest ? Math.max(1, soonest.at - this.#clock.now().getTime()) : null
  }

  /** What should be put off, until `forgetSurplus`. */
  get surplus(): readonly { delivery: Claimed; at: Date }[] {
    return this.#surplus
  }

  forgetSurplus(count: number): void {
    this.#surplus.splice(0, count)
  }

  add(claimed: readonly Claimed[]): void {
    for (const one of claimed) this.#front.add(one)
  }

  /** The next that may go, by its domain and by `mayGo`, which answers alike for all of a broadcast. */
  take(mayGo: (delivery: Claimed) => boolean = () => true): Claimed | undefined {
    if (this.#gate.isOpen && this.#parked === 0) return this.#front.take(mayGo) ?? undefined
    const now = this.#clock.now().getTime()
    return this.#takeParked(now, mayGo) ?? this.#takeFront(now, mayGo)
  }

  /** One that was taken has come to its end. */
  done(delivery: Claimed, outcome: Outcome): void {
    this.#end(delivery, patienceOf(outcome))
  }

  /** One that was taken did not begin. */
  undo(delivery: Claimed): void {
    this.#end(delivery, 'unheard')
  }

  /** One that was taken did not begin, and is the next. */
  putBack(delivery: Claimed): void {
    this.undo(delivery)
    this.#front.addFirst(delivery)
  }

  all(): Claimed[] {
    return [
      ...this.#front.all(),
      ...[...this.#lanes.values()].flatMap(({ items }) => items),
      ...this.#surplus.map(({ delivery }) => delivery),
    ]
  }

  /** Takes out all that `isOut` says, and answers it. */
  remove(isOut: (delivery: Claimed) => boolean): Claimed[] {
    const out = this.all().filter(isOut)
    if (out.length === 0) return out
    const gone = new Set(out)
    for (const one of this.#front.takeAll()) if (!gone.has(one)) this.#front.add(one)
    this.#surplus = this.#surplus.filter(({ delivery }) => !gone.has(delivery))
    for (const lane of this.#lanes.values()) lane.items = lane.items.filter((one) => !gone.has(one))
    for (const [domain, { items }] of this.#lanes) if (items.length === 0) this.#lanes.delete(domain)
    this.#ready = this.#ready.filter(({ items }) => items.length > 0)
    this.#timed = this.#timed.filter(({ items }) => items.length > 0)
    this.#parked = [...this.#lanes.values()].reduce((sum, { items }) => sum + items.length, 0)
    return out
  }

  #takeParked(now: number, mayGo: (delivery: Claimed) => boolean): Claimed | undefined {
    // A clock that was set back would hold them for as long: they are asked for anew.
    const due = now < this.#lookedAt ? Number.POSITIVE_INFINITY : now
    this.#lookedAt = now
    while (this.#timed.length > 0 && (this.#timed.at(-1) as Lane).at <= due) this.#makeReady(this.#timed.pop() as Lane)
    for (let left = this.#ready.length; left > 0; left--) {
      const lane = this.#ready.shift() as Lane // so many were there
      const at = lane.items.findIndex(mayGo)
      if (at < 0) {
        this.#ready.push(lane)
        continue
      }
      if (!this.#gate.tryTake(lane.domain, now)) {
        this.#suspend(lane)
        continue
      }
      const [delivery] = lane.items.splice(at, 1) as [Claimed]
      this.#parked--
      if (lane.items.length > 0) this.#ready.push(lane)
      else this.#lanes.delete(lane.domain)
      return this.#mark(delivery, lane.domain)
    }
    return undefined
  }

  #takeFront(now: number, mayGo: (delivery: Claimed) => boolean): Claimed | undefined {
    for (let delivery = this.#front.take(mayGo); delivery; delivery = this.#front.take(mayGo)) {
      const domain = domainOf(delivery.email)
      const lane = this.#lanes.get(domain)
      if (!lane && this.#gate.tryTake(domain, now)) return this.#mark(delivery, domain)
      this.#park(delivery, domain, lane, now)
    }
    return undefined
  }

  #mark(delivery: Claimed, domain: string): Claimed {
    if (this.#gate.counts(domain)) this.#counted.add(delivery)
    return delivery
  }

  #park(delivery: Claimed, domain: string, lane: Lane | undefined, now: number): void {
    if (this.#parked >= mostParked || (lane && lane.items.length >= this.#gate.roomFor(domain))) {
      this.#surplus.push({ delivery, at: new Date(this.#gate.place(domain, now)) })
      return
    }
    this.#parked++
    if (lane) lane.items.push(delivery)
    else {
      const made: Lane = { domain, items: [delivery], state: 'blocked', at: 0 }
      this.#lanes.set(domain, made)
      this.#suspend(made)
    }
  }

  #end(delivery: Claimed, patience: Patience): void {
    const isCounted = this.#counted.delete(delivery)
    if (!isCounted && this.#gate.isOpen && patience !== 'slow_down') return
    const domain = domainOf(delivery.email)
    const now = this.#clock.now().getTime()
    if (isCounted) this.#gate.done(domain, patience, now)
    else this.#gate.hear(domain, patience, now)
    const lane = this.#lanes.get(domain)
    if (lane?.state === 'blocked') this.#makeReady(lane)
  }

  #makeReady(lane: Lane): void {
    lane.state = 'ready'
    this.#ready.push(lane)
  }

  /** Until its time, by the order of times; or until one of its own is done. */
  #suspend(lane: Lane): void {
    lane.at = this.#gate.nextAt(lane.domain)
    lane.state = Number.isFinite(lane.at) ? 'timed' : 'blocked'
    if (lane.state === 'blocked') return
    let [low, high] = [0, this.#timed.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#timed[middle] as Lane).at > lane.at) low = middle + 1
      else high = middle
    }
    this.#timed.splice(low, 0, lane)
  }
}

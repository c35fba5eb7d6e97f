import { type Moment, momentOf, msSince } from '../../base/clock.ts'
import { InTouch } from '../../base/in-touch.ts'
import type { Claimed } from './broadcast.ts'
import { type Lessee, renewLeases } from './claim.ts'
import type { BroadcastSender } from './send-broadcasts.ts'

type Delivery = Pick<Claimed, 'id'>
type Parts = Pick<BroadcastSender, 'database' | 'clock' | 'node' | 'leaseMs'>

/** What this process may believe of its claims: nobody else takes them before a whole lease has passed since they were renewed. */
export class Leases {
  readonly #parts: Parts
  readonly #lost = new WeakSet<Delivery>()
  readonly #inTouch: InTouch
  #renewedAt: Moment | null = null

  constructor(parts: Parts) {
    this.#parts = parts
    this.#inTouch = new InTouch(parts.leaseMs)
  }

  lessee(): Lessee {
    const { node, clock, leaseMs } = this.#parts
    return { node_id: node.id, now: clock.now(), lease_ms: leaseMs, takes_over: this.#inTouch.mayTakeOver }
  }

  /** A step of this process that asks the database. */
  inStep<Result>(step: () => Promise<Result>): Promise<Result> {
    return this.#inTouch.ask(step)
  }

  /**
   * Four times in the life of a lease. After a sleep that was longer, others may have taken some of it: those are lost. True when some were.
   */
  async renew(lessee: Lessee, held: () => Delivery[]): Promise<boolean> {
    if (this.#isWithin(0.25)) return false
    const { clock } = this.#parts
    const asked = momentOf(clock)
    const lost = await this.#renewAll(lessee, held())
    for (const one of lost) this.#lost.add(one)
    this.#renewedAt = asked
    return lost.length > 0
  }

  async #renewAll(lessee: Lessee, held: Delivery[]): Promise<Delivery[]> {
    if (held.length === 0) return []
    const ids = held.map(({ id }) => id)
    const ours = new Set((await renewLeases(this.#parts.database, lessee, ids)).map(({ id }) => id))
    return held.filter(({ id }) => !ours.has(id))
  }

  isLost(delivery: Delivery): boolean {
    return this.#lost.has(delivery)
  }

  /** Whether what was not lost is certainly held. */
  get areHeld(): boolean {
    return this.#isWithin(1)
  }

  #isWithin(part: number): boolean {
    const { clock, leaseMs } = this.#parts
    return this.#renewedAt !== null && msSince(this.#renewedAt, clock) < part * leaseMs
  }
}

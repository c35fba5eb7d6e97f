import { type Moment, momentOf, msSince, systemClock } from './clock.ts'

const longestGraceMs = 10_000
const longestSilenceMs = 15_000
/** What passes between two questions counts for so much at most: whoever was frozen for a while has not asked. */
const mostCountedMs = 2_000

/**
 * While the database is away nobody can renew a lease: when it is back, also those of the living have run out. So whoever takes over what
 * the dead have left asks for a while first, in which the living tell the database that they are there, and what they know.
 */
export class InTouch {
  readonly #graceMs: number
  /** Whoever has not asked for so long may have slept, and missed that the database was away. */
  readonly #silenceMs: number
  #steadyMs = 0
  /** By both clocks: one of them stands still while the machine sleeps. */
  #heardAt: Moment | null = null

  constructor(leaseMs: number) {
    this.#graceMs = Math.min(leaseMs, longestGraceMs)
    this.#silenceMs = Math.min(leaseMs / 2, longestSilenceMs)
  }

  /** `work` asks the database, again and again. */
  async ask<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      const result = await work()
      this.#steadyMs = this.#isSilent ? 0 : this.#steadyMs + Math.min(this.#unheardMs, mostCountedMs)
      this.#heardAt = momentOf(systemClock)
      return result
    } catch (error) {
      this.#heardAt = null
      throw error
    }
  }

  get #unheardMs(): number {
    return this.#heardAt === null ? Number.POSITIVE_INFINITY : msSince(this.#heardAt, systemClock)
  }

  get #isSilent(): boolean {
    return this.#unheardMs > this.#silenceMs
  }

  /** Whether a lease that has run out is one of the dead. */
  get mayTakeOver(): boolean {
    return !this.#isSilent && this.#steadyMs >= this.#graceMs
  }
}

const longestGraceMs = 10_000
/** Whoever has not asked for so long may have slept, and missed that the database was away. */
const silenceMs = 15_000
/** What passes between two questions counts for so much at most: whoever was frozen for a while has not asked. */
const mostCountedMs = 2_000

/**
 * While the database is away nobody can renew a lease: when it is back, also those of the living have run out. So whoever takes over what
 * the dead have left asks for a while first, in which the living tell the database that they are there, and what they know.
 */
export class InTouch {
  readonly #graceMs: number
  #steadyMs = 0
  #heardAt: number | null = null

  constructor(leaseMs: number) {
    this.#graceMs = Math.min(leaseMs, longestGraceMs)
  }

  /** `work` asks the database, again and again. */
  async ask<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      const result = await work()
      const now = performance.now()
      this.#steadyMs = this.#isSilent ? 0 : this.#steadyMs + Math.min(now - (this.#heardAt ?? now), mostCountedMs)
      this.#heardAt = now
      return result
    } catch (error) {
      this.#heardAt = null
      throw error
    }
  }

  get #isSilent(): boolean {
    return this.#heardAt === null || performance.now() - this.#heardAt > silenceMs
  }

  /** Whether a lease that has run out is one of the dead. */
  get mayTakeOver(): boolean {
    return !this.#isSilent && this.#steadyMs >= this.#graceMs
  }
}

/**
 * While a broadcast or an import is under way it makes events by the thousand, and has the processor first if it runs in the same process:
 * deliveries of such masses go out slowly then, and at full speed once no more come. Single events never wait.
 */
export class MassPace {
  readonly #isShared: boolean
  #filedAt: { at: number; count: number }[] = []
  #tokens = 0
  #filledAt = performance.now()

  /** `isShared`: what makes masses of events runs in this process, too. */
  constructor(isShared: boolean) {
    this.#isShared = isShared
  }

  /** So many deliveries were filed together. */
  hear(count: number): void {
    this.#filedAt.push({ at: performance.now(), count })
    if (this.#filedAt.length > 1_000) this.#forget()
  }

  /** Whether one of a mass may go now. */
  take(): boolean {
    if (!this.#isMassComing()) return true
    const now = performance.now()
    this.#tokens = Math.min(slowPerSecond, this.#tokens + ((now - this.#filledAt) / 1_000) * slowPerSecond)
    this.#filledAt = now
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  #isMassComing(): boolean {
    if (!this.#isShared) return false
    this.#forget()
    return this.#filedAt.reduce((sum, { count }) => sum + count, 0) >= massPerWindow
  }

  #forget(): void {
    const before = performance.now() - windowMs
    this.#filedAt = this.#filedAt.filter(({ at }) => at > before)
  }
}

const windowMs = 2_000
const massPerWindow = 400
const slowPerSecond = 100

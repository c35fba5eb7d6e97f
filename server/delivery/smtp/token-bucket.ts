/** Lets `perSecond` things through a second, evenly: after a rest at most a tenth of a second's worth goes at once. */
export class TokenBucket {
  readonly #perSecond: number
  readonly #most: number
  #tokens: number
  #filledAt: number

  constructor(perSecond: number, nowMs: number) {
    this.#perSecond = perSecond
    this.#most = Math.max(1, perSecond / 10)
    this.#tokens = this.#most
    this.#filledAt = nowMs
  }

  /** Takes one and answers 0, or takes none and answers how many ms it is until there will be one. */
  take(nowMs: number): number {
    this.#fill(nowMs)
    if (this.#tokens < 1) return Math.max(1, Math.ceil(((1 - this.#tokens) * 1000) / this.#perSecond))
    this.#tokens--
    return 0
  }

  /** Takes one that may not be there yet: those who come later wait for it as well. */
  takeAnyway(nowMs: number): void {
    this.#fill(nowMs)
    this.#tokens--
  }

  #fill(nowMs: number): void {
    this.#tokens = Math.min(this.#most, this.#tokens + (Math.max(0, nowMs - this.#filledAt) * this.#perSecond) / 1000)
    this.#filledAt = nowMs
  }
}

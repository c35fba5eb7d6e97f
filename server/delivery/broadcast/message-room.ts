/**
 * How many octets of messages may be in memory at once, whatever their number: a hundred of 36 kB are nothing, a hundred of 5 MB would be
 * half a gigabyte while a relay is slow.
 */
export class MessageRoom {
  #held = 0
  readonly #mostHeld: number
  readonly #waiting: (() => void)[] = []

  constructor(mostHeld = 32 * 2 ** 20) {
    this.#mostHeld = mostHeld
  }

  /** The message that fills it still fits, so that none is too large for it. */
  get isFull(): boolean {
    return this.#held >= this.#mostHeld
  }

  /** Until something has left. Others may have been quicker then. */
  untilLess(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Answers what to call when the message has gone; more often does no harm. */
  hold(octets: number): () => void {
    this.#held += octets
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#held -= octets
      if (this.#waiting.length > 0) for (const wake of this.#waiting.splice(0)) wake()
    }
  }
}

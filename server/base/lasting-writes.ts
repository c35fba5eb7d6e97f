import { setTimeout as sleep } from 'node:timers/promises'
import { reasonOf } from './errors.ts'
import type { Log } from './log.ts'

const firstWaitMs = 250
const longestWaitMs = 2_000

interface About {
  log: Log
  /** What the log names it by. */
  about: object
}

/**
 * Writes down what has happened elsewhere and cannot be asked for again: that another server has taken a mail, say. When the database is
 * away in that moment, dropping it would do it all once more; so it is tried until it is written, for as long as this process lives.
 */
export class LastingWrites {
  #endsAt = Number.POSITIVE_INFINITY
  #graceMs = Number.POSITIVE_INFINITY

  /** `isRepeat`: it was tried before, and nobody knows whether that was committed. */
  async write<Result>(work: (isRepeat: boolean) => Promise<Result>, { log, about }: About): Promise<Result> {
    const began = performance.now()
    for (let waitMs = firstWaitMs, isRepeat = false; ; waitMs = Math.min(2 * waitMs, longestWaitMs), isRepeat = true) {
      try {
        const result = await work(isRepeat)
        if (isRepeat) log.info(about, 'an outcome that had to wait is written down')
        return result
      } catch (error) {
        if (performance.now() + waitMs > Math.max(this.#endsAt, began + this.#graceMs)) {
          log.error({ ...about, reason: reasonOf(error) }, 'an outcome could not be written down before this process ends')
          throw error
        }
        log[isRepeat ? 'debug' : 'warn']({ ...about, reason: reasonOf(error) }, 'an outcome is written down later')
        await sleep(waitMs)
      }
    }
  }

  /** This process ends: whatever cannot be written within this time, from now or from its beginning, fails with the error of its last try. */
  endWithin(graceMs: number): void {
    this.#graceMs = graceMs
    this.#endsAt = performance.now() + graceMs
  }
}

/** How long a process that ends tries on. It is ended by force half a minute after it was told to stop. */
export const writeOnStopMs = 8_000

/**
 * Whether a thread still turns: it gives a beat every so often, and whoever watches counts the beats that did not come, by ticks of its own
 * event loop. A machine that slept, or a watcher that was held up itself, counts one tick for all of that time and takes nobody for dead.
 */
export const beatEveryMs = 2_000

/** Some seconds of silence are told; half a minute is the end. */
const ticks = { quiet: 5, dead: 15 }

export class Pulse {
  #missed = 0

  beat(): void {
    this.#missed = 0
  }

  tick(): void {
    this.#missed++
  }

  get isQuiet(): boolean {
    return this.#missed > ticks.quiet
  }

  get isDead(): boolean {
    return this.#missed > ticks.dead
  }
}

/** Everything that asks for the time asks this, so that a test can move it. */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }

/** A moment by the clock on the wall, which jumps when somebody sets it, and by the one that only runs, which stands still while the machine sleeps. */
export interface Moment {
  wallMs: number
  runningMs: number
}

export const momentOf = (clock: Clock): Moment => ({ wallMs: clock.now().getTime(), runningMs: performance.now() })

/** How long ago that was by whichever of the two says more: for deadlines that must not be missed. */
export const msSince = (moment: Moment, clock: Clock): number =>
  Math.max(clock.now().getTime() - moment.wallMs, performance.now() - moment.runningMs)

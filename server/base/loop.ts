import type { Log } from './log.ts'
import { Rest } from './rest.ts'
import { Trouble } from './trouble.ts'
import { onWake, type Wake } from './wake.ts'

export interface Loop {
  /** Resolves when the step under way is done; no further one begins. */
  stop(): Promise<void>
}

interface LoopOptions {
  name: string
  log: Log
  /** What rouses it at once, if anything does; between wakes it looks by itself. */
  on?: Wake
  everyMs: number
  /** So long passes after a step at least, however often it is roused: what came meanwhile is done in one go. */
  pauseMs?: number
  /** One step of the work, which is told whether anybody roused the loop in the last `everyMs`. True means "there may be more": it goes on without rest. */
  step(isRoused: boolean): Promise<boolean>
}

/** Work that comes in its own time, until stopped. An error is logged and the work tried again: a loop never dies. */
export function startLoop({ name, log, on, everyMs, pauseMs = 0, step }: LoopOptions): Loop {
  let stopped = false
  let rousedAt = Number.NEGATIVE_INFINITY
  const resting = new Rest()
  const pausing = new Rest()
  const rouse = () => {
    rousedAt = performance.now()
    resting.end()
  }
  const offWake = on ? onWake(on, rouse) : () => {}
  const trouble = new Trouble(log, {
    line: 'a step failed and is tried again',
    about: { loop: name },
    words: `the work "${name}" stands still`,
  })
  const run = async () => {
    while (!stopped) {
      const began = performance.now()
      const more = await trouble.around(() => step(began - rousedAt < everyMs), false)
      if (pauseMs > 0 && !stopped) await pausing.for(pauseMs)
      // Roused while the step was running: what it was roused for may have come too late for that step.
      if (!more && rousedAt < began && !stopped) await resting.for(everyMs)
    }
  }
  const running = run()
  return {
    async stop() {
      stopped = true
      offWake()
      pausing.end()
      resting.end()
      await running
    },
  }
}

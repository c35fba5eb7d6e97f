import type { Log } from './log.ts'
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
  /** One step of the work. True means "there may be more": it goes on without rest. */
  step(): Promise<boolean>
}

/** Work that comes in its own time, until stopped. An error is logged and the work tried again: a loop never dies. */
export function startLoop({ name, log, on, everyMs, step }: LoopOptions): Loop {
  let stopped = false
  let roused = false
  let endRest = () => {}
  const rouse = () => {
    roused = true
    endRest()
  }
  const offWake = on ? onWake(on, rouse) : () => {}
  const rest = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, everyMs)
      endRest = () => {
        clearTimeout(timer)
        resolve()
      }
      // Roused while the step was running: what it was roused for may have come too late for that step.
      if (roused || stopped) endRest()
    })
  // An async function of its own: a step that throws before it returns a promise is caught as well.
  const oneStep = async () => step()
  const run = async () => {
    while (!stopped) {
      roused = false
      const more = await oneStep().catch((error: unknown) => {
        log.warn({ loop: name, reason: (error as Error).message }, 'a step failed and is tried again')
        return false
      })
      if (!more) await rest()
    }
  }
  const running = run()
  return {
    async stop() {
      stopped = true
      offWake()
      endRest()
      await running
    },
  }
}

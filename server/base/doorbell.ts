import { Rest } from './rest.ts'

/** For a request that waits until it is rung for. */
export interface Doorbell {
  ring(): void
  /** Resolves when it was rung since the last rest began, after so long, or when nobody waits any more. */
  rest(ms: number): Promise<void>
  isOver(): boolean
}

export function createDoorbell(ended: AbortSignal): Doorbell {
  let isRung = false
  const resting = new Rest()
  const ring = () => {
    isRung = true
    resting.end()
  }
  ended.addEventListener('abort', ring, { once: true })
  const rest = async (ms: number) => {
    // Rung since it looked last: it looks again at once.
    if (!isRung && !ended.aborted) await resting.for(ms)
    isRung = false
  }
  return { ring, rest, isOver: () => ended.aborted }
}

/** For a request that waits until it is rung for. */
export interface Doorbell {
  ring(): void
  /** Resolves when it was rung since the last rest began, after so long, or when nobody waits any more. */
  rest(ms: number): Promise<void>
  isOver(): boolean
}

export function createDoorbell(ended: AbortSignal): Doorbell {
  let isRung = false
  let endRest = () => {}
  const ring = () => {
    isRung = true
    endRest()
  }
  ended.addEventListener('abort', ring, { once: true })
  const rest = async (ms: number) => {
    // Rung since it looked last: it looks again at once.
    if (!isRung && !ended.aborted)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        endRest = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    isRung = false
  }
  return { ring, rest, isOver: () => ended.aborted }
}

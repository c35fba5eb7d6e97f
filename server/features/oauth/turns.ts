export interface Turns {
  /** True when there was a wait. Rejects when the signal comes first. */
  take(signal: AbortSignal): Promise<boolean>
  /** Whoever has waited longest is next. */
  leave(): void
}

/** So many at once; everybody else waits, for as long as their signal lets them. */
export function createTurns(atOnce: number): Turns {
  let taken = 0
  const waiting = new Set<() => void>()
  return {
    async take(signal) {
      signal.throwIfAborted()
      if (taken < atOnce) {
        taken++
        return false
      }
      const { promise: turn, resolve, reject } = Promise.withResolvers<void>()
      const giveUp = () => {
        waiting.delete(resolve)
        reject(signal.reason)
      }
      waiting.add(resolve)
      signal.addEventListener('abort', giveUp, { once: true })
      await turn.finally(() => signal.removeEventListener('abort', giveUp))
      return true
    },
    leave() {
      const [next] = waiting
      if (!next) {
        taken--
        return
      }
      waiting.delete(next)
      next()
    },
  }
}

/** Minutes to wait after each attempt that was put off. The first is short for greylisting; after the last the message has failed. */
const waitsInMinutes = [2, 10, 30, 60, 120, 240, 480, 960, 960] as const

/** When to try again after `attempts` attempts, or null when it is time to give up. */
export function nextAttempt(attempts: number, now: Date): Date | null {
  const minutes = waitsInMinutes[attempts - 1]
  return minutes === undefined ? null : new Date(now.getTime() + minutes * 60_000)
}

import { setTimeout as sleep } from 'node:timers/promises'

/**
 * What `look` answers once it is neither false, null nor undefined. Looks again and again, and fails when the time is over: a test
 * waits for what it wants to see, never for a while.
 */
export async function until<Seen>(
  what: string,
  look: () => Seen | Promise<Seen>,
  { withinMs = 20_000, everyMs = 10 }: { withinMs?: number; everyMs?: number } = {},
): Promise<Exclude<Seen, false | null | undefined>> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const seen = await look()
    if (seen !== false && seen !== null && seen !== undefined) return seen as Exclude<Seen, false | null | undefined>
    if (performance.now() > deadline) throw new Error(`Still not so after ${withinMs} ms: ${what}`)
    await sleep(everyMs)
  }
}

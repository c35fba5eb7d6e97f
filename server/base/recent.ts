import type { Log } from './log.ts'

/** Answers are reused for this long, so that what was taken back stops within a second on every node. */
const trustedForMs = 500
const maxRemembered = 10_000

/** Asks `look` at most twice a second for one key, however often it is wanted. */
export function rememberBriefly<Value>(look: (key: string) => Promise<Value>): (key: string) => Promise<Value> {
  const known = new Map<string, { value: Promise<Value>; until: number }>()
  return (key) => {
    const at = performance.now()
    const remembered = known.get(key)
    if (remembered && remembered.until > at) return remembered.value
    if (known.size >= maxRemembered) known.clear()
    const value = look(key)
    known.set(key, { value, until: at + trustedForMs })
    // A failed look-up must not be remembered as an answer.
    value.catch(() => known.delete(key))
    return value
  }
}

const noteEveryMs = 60_000

/** When something was last used is worth one write a minute, not one a use; a write that fails is made up for by the next. */
export function noteUses<Thing>(
  log: Log,
  write: (thing: Thing, now: Date) => Promise<unknown>,
): (id: string, thing: Thing, now: Date) => void {
  const noted = new Map<string, number>()
  return (id, thing, now) => {
    if (now.getTime() - (noted.get(id) ?? 0) < noteEveryMs) return
    if (noted.size >= maxRemembered) noted.clear()
    noted.set(id, now.getTime())
    write(thing, now).catch((error: Error) => log.debug({ reason: error.message }, 'last_used_at is noted later'))
  }
}

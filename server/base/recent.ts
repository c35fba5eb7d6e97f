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

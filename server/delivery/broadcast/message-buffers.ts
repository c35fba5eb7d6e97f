/**
 * Room for messages that is used again. A message of 36 kB is garbage a moment after it left, and memory outside of V8's heap makes it
 * collect all of the heap: every 500 messages, for two fifths of what a message cost.
 */
export interface MessageBuffers {
  /** Exactly so many octets, with anything in them. */
  take(octets: number): Buffer
  /** Nobody reads these octets any more. What is never given back is garbage like any other. */
  giveBack(taken: Buffer): void
}

/** Sizes that differ by the length of a name share their room. */
const step = 16_384
/** Twice what a hundred messages of usual size take; when sizes change, what is kept of the old ones goes. */
const mostKept = 8 * 2 ** 20

export function createMessageBuffers(): MessageBuffers {
  const free = new Map<number, ArrayBufferLike[]>()
  let kept = 0
  return {
    take(octets) {
      const room = Math.ceil(octets / step) * step
      const used = free.get(room)?.pop()
      if (used) kept -= room
      // Slow: one of its own, never a piece of the pool that Node cuts small buffers from.
      return used ? Buffer.from(used, 0, octets) : Buffer.allocUnsafeSlow(room).subarray(0, octets)
    },
    giveBack({ buffer }) {
      const room = buffer.byteLength
      if (kept + room > mostKept) {
        free.clear()
        kept = 0
      }
      if (room > mostKept) return
      const same = free.get(room)
      if (same) same.push(buffer)
      else free.set(room, [buffer])
      kept += room
    },
  }
}

/**
 * Where messages lie from their first byte to their commit. Buffers of the usual size are used again and again: fresh ones outlive two
 * young collections while they wait for the disk, and the full collections that then clear them away took a quarter of all the time.
 */
export interface MessageMemory {
  /** Null when this process holds as much mail as it may, over all connections; or of this peer, who gets half of it at most. */
  take(size: number, peer: string | null): Buffer | null
  give(buffer: Buffer, peer: string | null): void
  isFull(): boolean
}

/** Most mail fits; what does not gets a buffer of its own. */
export const usualSize = 32 * 1024
const maxKept = 256

export function createMessageMemory(limit: number): MessageMemory {
  const free: Buffer[] = []
  const usedBy = new Map<string, number>()
  let used = 0
  const count = (peer: string | null, octets: number) => {
    used += octets
    if (peer === null) return
    const left = (usedBy.get(peer) ?? 0) + octets
    if (left > 0) usedBy.set(peer, left)
    else usedBy.delete(peer)
  }
  return {
    take(size, peer) {
      const length = Math.max(size, usualSize)
      if (used + length > limit || (peer !== null && (usedBy.get(peer) ?? 0) + length > limit / 2)) return null
      count(peer, length)
      return (length === usualSize ? free.pop() : undefined) ?? Buffer.allocUnsafeSlow(length)
    },
    give(buffer, peer) {
      count(peer, -buffer.length)
      if (buffer.length === usualSize && free.length < maxKept) free.push(buffer)
    },
    isFull: () => used + usualSize > limit,
  }
}

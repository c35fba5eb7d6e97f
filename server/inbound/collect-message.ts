import type { Readable } from 'node:stream'
import type { MessageMemory } from './message-memory.ts'
import { createLineNormaliser } from './normalise-lines.ts'
import { type Refusal, refusals } from './refusal.ts'

export type Collected =
  /** `release` when nobody looks at it any more: its place is used again. */
  | { kind: 'whole'; raw: Buffer; release(): void }
  | { kind: 'refused'; refusal: Refusal }
  /** The peer left in the middle; nobody waits for an answer. */
  | { kind: 'gone' }

interface Place {
  /** Goes on top, and does not count for `maxBytes`. */
  header: string
  maxBytes: number
  memory: MessageMemory
  /** Whose mail it is, as limits count it; null for relays of one's own. */
  peer: string | null
}

/**
 * Takes the body of DATA as it comes. A message that is too big, or for which there is no room, is let go at once and read on to its
 * end, where alone the answer has its place.
 */
export function collectMessage(stream: Readable, place: Place): Promise<Collected> {
  const lines = createLineNormaliser()
  const growing = createGrowing(place)
  let refusal = growing.add([Buffer.from(place.header)])
  return new Promise((resolve) => {
    stream.on('data', (chunk: Buffer) => {
      refusal ??= growing.add(lines.push(chunk))
    })
    stream.on('end', () => {
      refusal ??= growing.add(lines.end())
      resolve(refusal ? { kind: 'refused', refusal } : { kind: 'whole', raw: growing.whole(), release: growing.release })
    })
    // With a listener for 'error' in place, smtp-server tells by it that the peer has left.
    stream.on('error', () => {
      // Not after the end: the place may be somebody else's by then.
      if (!stream.readableEnded) growing.release()
      resolve({ kind: 'gone' })
    })
  })
}

function createGrowing({ header, maxBytes, memory, peer }: Place) {
  const maxLength = Buffer.byteLength(header) + maxBytes
  let buffer: Buffer | null = null
  let length = 0

  const release = () => {
    if (buffer) memory.give(buffer, peer)
    buffer = null
  }
  const hasRoomFor = (wanted: number): boolean => {
    if (buffer && wanted <= buffer.length) return true
    const larger = memory.take(Math.min(Math.max(wanted, 2 * (buffer?.length ?? 0)), Math.max(wanted, maxLength)), peer)
    if (!larger) return false
    buffer?.copy(larger, 0, 0, length)
    release()
    buffer = larger
    return true
  }
  const refuse = (refusal: Refusal): Refusal => {
    release()
    return refusal
  }
  return {
    release,
    add(pieces: Buffer[]): Refusal | null {
      for (const piece of pieces) {
        const wanted = length + piece.length
        if (wanted > maxLength) return refuse(refusals.too_big)
        if (!hasRoomFor(wanted)) return refuse(refusals.no_room)
        length += piece.copy(buffer as Buffer, length)
      }
      return null
    },
    whole: () => (buffer as Buffer).subarray(0, length),
  }
}

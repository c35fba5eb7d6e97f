export const timeByteCount = 8
export const linkLastsMs = 24 * 3_600_000

/** For links that end: the moment that they were made in. */
export function timeBytes(time: Date): Buffer {
  const buffer = Buffer.alloc(timeByteCount)
  buffer.writeBigUInt64BE(BigInt(time.getTime()))
  return buffer
}

/** Whether a link that was made then still opens. */
export const isFresh = (more: Buffer, now: Date): boolean =>
  more.length >= timeByteCount && now.getTime() - Number(more.readBigUInt64BE()) <= linkLastsMs

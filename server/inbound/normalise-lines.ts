const [lf, cr] = [0x0a, 0x0d]
const crlf = Buffer.from('\r\n')

/** Looked for in text, which takes a tenth of the time that a look at each byte does. */
const standsAlone = /\r(?!\n)|(?<!\r)\n/

/**
 * Makes every line end CRLF, chunk by chunk: a CR or LF that stands alone becomes a whole one. What other servers might take for the
 * end of a message (`LF . LF` and its kin, CVE-2023-51764) is then plain text that whoever sends it on has to escape. All else passes
 * as it is, zero bytes too.
 */
export function createLineNormaliser(): { push(chunk: Buffer): Buffer[]; end(): Buffer[] } {
  /** The last chunk ended with a CR, which is kept until it is known what follows. */
  let isCrOpen = false
  return {
    push(chunk) {
      if (!isCrOpen && !standsAlone.test(chunk.toString('latin1'))) return [chunk]
      const pieces: Buffer[] = []
      let begin = 0
      if (isCrOpen && chunk.length > 0) {
        pieces.push(crlf)
        if (chunk[0] === lf) begin = 1
        isCrOpen = false
      }
      for (let at = begin; at < chunk.length; at++) {
        const byte = chunk[at] as number
        if (byte > cr || (byte !== cr && byte !== lf)) continue
        if (byte === cr && chunk[at + 1] === lf) {
          at++
          continue
        }
        pieces.push(chunk.subarray(begin, at))
        begin = at + 1
        if (byte === cr && at === chunk.length - 1) isCrOpen = true
        else pieces.push(crlf)
      }
      pieces.push(chunk.subarray(begin))
      return pieces
    },
    end() {
      if (!isCrOpen) return []
      isCrOpen = false
      return [crlf]
    },
  }
}

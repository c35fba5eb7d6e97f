/**
 * Quoted-printable (RFC 2045 section 6.7) that also suits those who handle it later: no line begins with a dot (nothing to stuff in
 * SMTP) or with "From " (nothing for an mbox to mangle), and there is never white space at the end of a line, a tab, or two spaces in
 * a row, so that the text is its own relaxed DKIM form (RFC 6376 section 3.4.4) and need not be copied to be hashed.
 */
export const softBreak = '=\r\n'

/** RFC 2045 section 6.7 rule 5: 76 with the "=" of the soft break. */
const maxLine = 75

const hex = Array.from({ length: 256 }, (_, byte) => Buffer.from(`=${byte.toString(16).toUpperCase().padStart(2, '0')}`))
const [cr, lf, space, dot, equals] = [0x0d, 0x0a, 0x20, 0x2e, 0x3d]
const from = Buffer.from('From ')
/** 1 for what stands for itself anywhere but at the start of a line. */
const safe = Uint8Array.from({ length: 256 }, (_, byte) => (byte > space && byte < 0x7f && byte !== equals ? 1 : 0))

/** Encodes text that begins at the start of a line. Line ends of any kind become CRLF. */
export function encodeQuotedPrintable(text: string): Buffer {
  const bytes = Buffer.from(
    text
      .toWellFormed()
      .replaceAll('\0', '')
      .replace(/\r\n|\r|\n/g, '\r\n'),
  )
  // The worst case is three letters for each byte, and a soft break after each 25 of them.
  const out = Buffer.allocUnsafe(bytes.length * 3 + Math.ceil(bytes.length / 24) * 3 + 3)
  let length = 0
  let column = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    // Most of most texts: a letter inside a line.
    if (safe[byte] === 1 && column > 0 && column < maxLine) {
      out[length++] = byte
      column++
      continue
    }
    if (byte === cr && bytes[at + 1] === lf) {
      out[length++] = cr
      out[length++] = lf
      column = 0
      at++
      continue
    }
    const isPlain = safe[byte] === 1 || (byte === space && isSafeSpace(bytes, at, out[length - 1]))
    if (column + (isPlain ? 1 : 3) > maxLine) {
      out[length++] = equals
      out[length++] = cr
      out[length++] = lf
      column = 0
    }
    if (isPlain && !(column === 0 && isDangerousAtStart(bytes, at))) {
      out[length++] = byte
      column++
    } else {
      length += (hex[byte] as Buffer).copy(out, length)
      column += 3
    }
  }
  return out.subarray(0, length)
}

/** A space at the end of a line is lost on the way; one after another is folded by relaxed canonicalisation. */
const isSafeSpace = (bytes: Buffer, at: number, before: number | undefined): boolean =>
  at > 0 && before !== space && at + 1 < bytes.length && bytes[at + 1] !== cr

const isDangerousAtStart = (bytes: Buffer, at: number): boolean =>
  bytes[at] === dot || (bytes[at] === from[0] && bytes.subarray(at, at + from.length).equals(from))

/** One line that stands for itself: most names and every token. */
const short = /^(?![. ]|From )(?:[!-<>-~]| (?! |$)){0,75}$/

/** The same for a value of one recipient, which stands on lines of its own between soft breaks. */
export const encodeValue = (text: string): string => (short.test(text) ? text : encodeQuotedPrintable(text).toString('latin1'))

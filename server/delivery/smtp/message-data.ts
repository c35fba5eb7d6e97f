const cr = 13
const lf = 10
const dot = 46

/**
 * A message as it goes over the wire, without the final dot: every line ends in CRLF, and a dot that begins a line is doubled (RFC 5321
 * section 4.5.2). A CR or LF on its own never leaves, because servers differ in whether such a line ends (SMTP smuggling). The parts
 * are given on as they are, not copied, when nothing has to change; `isDotSafe` says that this is known.
 */
export function toWire(parts: readonly Buffer[], isDotSafe: boolean): readonly Buffer[] {
  if (isDotSafe) return parts
  const whole = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
  const isClean = whole[0] !== dot && !whole.includes('\n.') && !hasBareLineEnd(whole)
  return isClean ? parts : [rewrite(whole)]
}

/** The end of the data: the last line is closed when the message left it open. */
export function finalDot(parts: readonly Buffer[]): string {
  const last = parts.findLast((part) => part.length > 0)
  if (last === undefined) return '.\r\n'
  const end = last.length >= 2 ? last.subarray(-2) : Buffer.concat(parts).subarray(-2)
  return end[0] === cr && end[1] === lf ? '.\r\n' : '\r\n.\r\n'
}

function hasBareLineEnd(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === lf) return true
    if (byte !== cr) continue
    if (bytes[at + 1] !== lf) return true
    at++
  }
  return false
}

/** Byte for byte as Latin-1, so that whatever the bytes mean, they stay. */
const rewrite = (bytes: Buffer): Buffer =>
  Buffer.from(
    bytes
      .toString('latin1')
      .replace(/\r\n|\r|\n/g, '\r\n')
      .replace(/^\.|\n\./g, '$&.'),
    'latin1',
  )

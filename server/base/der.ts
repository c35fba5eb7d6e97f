/** The few shapes of DER (ITU-T X.690) that a certificate is made of. */

export const sequence = (...parts: Buffer[]): Buffer => element(0x30, ...parts)
export const set = (...parts: Buffer[]): Buffer => element(0x31, ...parts)
export const octetString = (...parts: Buffer[]): Buffer => element(0x04, ...parts)
export const utf8String = (text: string): Buffer => element(0x0c, Buffer.from(text))
export const yes = element(0x01, Buffer.of(0xff))

/** Whole bytes: none of the bits of the last one are unused. */
export const bitString = (bytes: Buffer): Buffer => element(0x03, Buffer.of(0), bytes)

/** Not negative: a first bit that is set would make it so, and gets a zero byte in front. Needless zeros are left out. */
export function integer(bytes: Buffer): Buffer {
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0) start++
  const digits = bytes.subarray(start)
  return element(0x02, (digits[0] as number) & 0x80 ? Buffer.of(0) : Buffer.alloc(0), digits)
}

export function objectId(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  return element(0x06, Buffer.from([40 * first + second, ...rest].flatMap(base128)))
}

/** A tag that the definition gives by number: `[0] …`. */
export const tagged = (number: number, ...parts: Buffer[]): Buffer => element(0xa0 | number, ...parts)
/** The same, in place of the tag of a string. */
export const taggedString = (number: number, bytes: Buffer): Buffer => element(0x80 | number, bytes)

/** RFC 5280 section 4.1.2.5: years to 2049 have two digits, later ones four. */
export function time(date: Date): Buffer {
  const digits = `${date.toISOString().slice(0, 19).replace(/\D/g, '')}Z`
  return date.getUTCFullYear() < 2050 ? element(0x17, Buffer.from(digits.slice(2))) : element(0x18, Buffer.from(digits))
}

function element(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.length)]), content])
}

function lengthOf(length: number): number[] {
  if (length < 0x80) return [length]
  const bytes: number[] = []
  for (let rest = length; rest > 0; rest >>= 8) bytes.unshift(rest & 0xff)
  return [0x80 | bytes.length, ...bytes]
}

function base128(value: number): number[] {
  const groups = [value & 0x7f]
  for (let rest = value >> 7; rest > 0; rest >>= 7) groups.unshift((rest & 0x7f) | 0x80)
  return groups
}

export interface DerElement {
  tag: number
  content: Buffer
}

/** The elements that stand one after another in these bytes. Throws when they are no DER. */
export function readElements(bytes: Buffer): DerElement[] {
  const elements: DerElement[] = []
  for (let at = 0; at < bytes.length; ) {
    const [from, end] = extentAt(bytes, at + 1)
    elements.push({ tag: bytes[at] as number, content: bytes.subarray(from, end) })
    at = end
  }
  return elements
}

/** Where the content begins and ends whose length is written at `at`. */
function extentAt(bytes: Buffer, at: number): [from: number, end: number] {
  const first = bytes[at] ?? 0x80
  const size = first < 0x80 ? 0 : first & 0x7f
  // Nothing that we read is longer than three bytes can say.
  if (first === 0x80 || size > 3 || at + size >= bytes.length) throw new Error('not DER: a length is missing')
  const from = at + 1 + size
  const length = size === 0 ? first : bytes.readUIntBE(at + 1, size)
  if (from + length > bytes.length) throw new Error('not DER: it ends too early')
  return [from, from + length]
}

export const toPem = (label: string, der: Buffer): string =>
  `-----BEGIN ${label}-----\n${der
    .toString('base64')
    .replace(/(.{64})/g, '$1\n')
    .trimEnd()}\n-----END ${label}-----\n`

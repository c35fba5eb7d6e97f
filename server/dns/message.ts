/**
 * Questions and replies as they go over the wire (RFC 1035 section 4, EDNS: RFC 6891). node:dns answers without the time that a TXT, CNAME
 * or MX record may still be kept, and that is what somebody who has just mended one wants to know.
 */
const typeNumbers = { A: 1, NS: 2, CNAME: 5, SOA: 6, MX: 15, TXT: 16, AAAA: 28, CAA: 257 } as const
export type RecordType = keyof typeof typeNumbers

export interface MailExchange {
  preference: number
  exchange: string
}

/** RFC 8659 section 4.1. */
export interface CaaProperty {
  critical: boolean
  tag: string
  value: string
}

/**
 * What a record of each type says. The strings of a TXT record are put together. Names are without the last dot and as zone files write them
 * (RFC 1035 section 5.1): a byte that is no printable letter is `\000` to `\255`, so that no name holds what cannot be kept or shown.
 */
export interface RecordData {
  A: string
  NS: string
  CNAME: string
  SOA: string
  MX: MailExchange
  TXT: string
  AAAA: string
  CAA: CaaProperty
}

export type DnsRecord = { [Type in RecordType]: { name: string; type: Type; ttl: number; data: RecordData[Type] } }[RecordType]

export interface Question {
  id: number
  name: string
  type: RecordType
}

export interface Reply {
  id: number
  /** 0 is fine, 2 SERVFAIL, 3 NXDOMAIN, 5 REFUSED. */
  code: number
  isTruncated: boolean
  /** As the server repeats it, to be held against what was asked; null when it repeats none. */
  question: { name: string; type: number } | null
  answers: DnsRecord[]
  authority: DnsRecord[]
}

/** A reply that breaks the rules of the format. */
export class MalformedReply extends Error {}

const largestUdpReply = 1_232

/** Null for a name that DNS cannot have. */
export function writeQuestion({ id, name, type }: Question): Buffer | null {
  const labels = nameBytes(name)
  if (!labels) return null
  const header = Buffer.alloc(12)
  header.writeUInt16BE(id, 0)
  // Recursion desired: a zone's own server does not mind.
  header.writeUInt16BE(0x0100, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(1, 10)
  const asked = Buffer.alloc(4)
  asked.writeUInt16BE(typeNumbers[type], 0)
  asked.writeUInt16BE(1, 2)
  // RFC 6891 section 6.1.2: the root name, OPT, and the size that we take.
  const edns = Buffer.alloc(11)
  edns.writeUInt16BE(41, 1)
  edns.writeUInt16BE(largestUdpReply, 3)
  return Buffer.concat([header, labels, asked, edns])
}

const namePattern = /^(?:[\x21-\x5b\x5d-\x7e]|\\[\x21-\x2f\x3a-\x7e]|\\(?:[01]\d\d|2[0-4]\d|25[0-5]))*$/

function nameBytes(name: string): Buffer | null {
  if (!namePattern.test(name)) return null
  const labels: number[][] = [[]]
  for (const [sign] of name.matchAll(/\\\d{3}|\\?./g)) {
    if (sign === '.') labels.push([])
    else labels.at(-1)?.push(sign.length === 4 ? Number(sign.slice(1)) : sign.charCodeAt(sign.length - 1))
  }
  if (labels.some(({ length }) => length === 0 || length > 63)) return null
  const bytes = Buffer.from([...labels.flatMap((label) => [label.length, ...label]), 0])
  return bytes.length <= 255 ? bytes : null
}

export function readReply(bytes: Buffer): Reply {
  try {
    return readParts(bytes)
  } catch (error) {
    if (error instanceof MalformedReply) throw error
    throw new MalformedReply('the reply ends too early', { cause: error })
  }
}

function readParts(bytes: Buffer): Reply {
  const flags = bytes.readUInt16BE(2)
  if ((flags & 0x8000) === 0) throw new MalformedReply('the reply is a question')
  const counts = [4, 6, 8].map((at) => bytes.readUInt16BE(at)) as [number, number, number]
  let at = 12
  let question: Reply['question'] = null
  for (let number = 0; number < counts[0]; number++) {
    const { name, end } = readName(bytes, at)
    question = { name, type: bytes.readUInt16BE(end) }
    at = end + 4
  }
  const section = (count: number): DnsRecord[] => {
    const records: DnsRecord[] = []
    for (let number = 0; number < count; number++) {
      const { record, end } = readRecord(bytes, at)
      if (record) records.push(record)
      at = end
    }
    return records
  }
  // A truncated reply may break off anywhere; it is asked for again by TCP.
  const isTruncated = (flags & 0x0200) !== 0
  const [answers, authority] = isTruncated ? [[], []] : [section(counts[1]), section(counts[2])]
  return { id: bytes.readUInt16BE(0), code: flags & 0x000f, isTruncated, question, answers, authority }
}

const typeNames = new Map<number, RecordType>(Object.entries(typeNumbers).map(([name, number]) => [number, name as RecordType]))
export const typeNumberOf = (type: RecordType): number => typeNumbers[type]

function readRecord(bytes: Buffer, start: number): { record: DnsRecord | null; end: number } {
  const { name, end: at } = readName(bytes, start)
  const type = typeNames.get(bytes.readUInt16BE(at))
  // RFC 2181 section 8: the highest bit set means zero.
  const ttl = Math.max(0, bytes.readInt32BE(at + 4))
  const from = at + 10
  const end = from + bytes.readUInt16BE(at + 8)
  if (end > bytes.length) throw new MalformedReply('a record ends after the reply')
  if (!type) return { record: null, end }
  return { record: { name: name.toLowerCase(), type, ttl, data: readers[type](bytes, from, end) } as DnsRecord, end }
}

type Reader<Data> = (bytes: Buffer, from: number, end: number) => Data
const nameReader: Reader<string> = (bytes, from) => readName(bytes, from).name

const readers: { [Type in RecordType]: Reader<RecordData[Type]> } = {
  A: (bytes, from, end) => [...exactly(4, bytes.subarray(from, end))].join('.'),
  AAAA: (bytes, from, end) => shortest(exactly(16, bytes.subarray(from, end))),
  NS: nameReader,
  CNAME: nameReader,
  SOA: nameReader,
  MX: (bytes, from) => ({ preference: bytes.readUInt16BE(from), exchange: readName(bytes, from + 2).name }),
  TXT: (bytes, from, end) => readStrings(bytes.subarray(from, end)),
  CAA: (bytes, from, end) => {
    const tagEnd = from + 2 + bytes.readUInt8(from + 1)
    if (tagEnd > end) throw new MalformedReply('a CAA record ends within its tag')
    return {
      critical: (bytes.readUInt8(from) & 0x80) !== 0,
      tag: bytes.toString('latin1', from + 2, tagEnd).toLowerCase(),
      value: bytes.toString('latin1', tagEnd, end),
    }
  },
}

function exactly(length: number, bytes: Buffer): Buffer {
  if (bytes.length !== length) throw new MalformedReply(`an address has ${bytes.length} bytes`)
  return bytes
}

/** As URLs write it, which is as RFC 5952 wants it. */
const shortest = (bytes: Buffer): string => {
  const groups = bytes.toString('hex').match(/.{4}/g) as string[]
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

function readStrings(bytes: Buffer): string {
  const strings: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt8(at)
    if (at + 1 + length > bytes.length) throw new MalformedReply('a TXT record ends within a string')
    strings.push(bytes.subarray(at + 1, at + 1 + length))
    at += 1 + length
  }
  return Buffer.concat(strings).toString('utf8')
}

/** A dot within a part is none between two. */
const escaped = (letter: string): string =>
  letter === '.' || letter === '\\' ? `\\${letter}` : `\\${String(letter.charCodeAt(0)).padStart(3, '0')}`

/** RFC 1035 section 4.1.4: the rest of a name may stand elsewhere. Pointers that lead in circles end with the longest name there is. */
function readName(bytes: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = []
  let length = 0
  let end: number | null = null
  let at = start
  for (let jumps = 0; ; ) {
    const size = bytes.readUInt8(at)
    if (size === 0) return { name: labels.join('.'), end: end ?? at + 1 }
    if (size >= 0xc0) {
      end ??= at + 2
      at = bytes.readUInt16BE(at) & 0x3fff
      if (++jumps > 64) throw new MalformedReply('a name leads in circles')
      continue
    }
    if (size > 63 || at + 1 + size > bytes.length) throw new MalformedReply('a name has a part that is too long')
    length += size + 1
    if (length > 255) throw new MalformedReply('a name is longer than 255 bytes')
    labels.push(bytes.toString('latin1', at + 1, at + 1 + size).replace(/[^\x21-\x7e]|[.\\]/g, escaped))
    at += 1 + size
  }
}

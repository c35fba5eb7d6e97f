import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'

/** What a name has. A name that is not there does not exist (NXDOMAIN); a type that is not there is an empty answer. */
export interface DnsName {
  MX?: [preference: number, host: string][]
  A?: string[]
  AAAA?: string[]
  TXT?: string[]
  NS?: string[]
  /** `0 issue letsencrypt.org`, as zone files write it, without the quotes. */
  CAA?: string[]
  /** Seconds; a minute, unless said. */
  ttl?: number
  /** Replies by UDP break off: it has to be asked by TCP. */
  isLong?: boolean
  /** How replies by UDP repeat the question, if not as it was asked. */
  repeats?: 'nothing' | 'in small letters'
  /** What has it has nothing else. The answer holds the whole chain, as that of a resolver does. */
  CNAME?: string
  /** In place of any answer. */
  fails?: 'SERVFAIL' | 'REFUSED' | 'silence'
}

export interface DnsPeer {
  /** As DNS_SERVERS wants it. */
  address: string
  /** May be changed at any time. */
  names: Record<string, DnsName>
  /** "MX example.test", in order and in small letters. */
  asked: string[]
  close(): Promise<void>
}

const types = { A: 1, NS: 2, MX: 15, TXT: 16, AAAA: 28, CAA: 257 } as const
const cname = 5
type RecordType = keyof typeof types

interface Place {
  /** Another address of this machine: `127.0.0.2` beside `127.0.0.1`, at the same port. */
  host?: string
  port?: number
}

/** A DNS server on UDP and TCP (RFC 1035) that knows a few names. */
export async function startDnsPeer(names: Record<string, DnsName>, { host = '127.0.0.1', port = 0 }: Place = {}): Promise<DnsPeer> {
  const asked: string[] = []
  const peer: DnsPeer = { address: '', names, asked, close: async () => {} }
  const { socket, server } = await listenAt(host, port)
  socket.on('message', (query, from) => {
    const answer = answerTo(query, peer, 'udp')
    if (answer) socket.send(answer, from.port, from.address)
  })
  server.on('connection', (connection) => {
    connection.on('error', () => {})
    // A question comes in one piece from this machine.
    connection.on('data', (bytes) => {
      const answer = answerTo(bytes.subarray(2), peer, 'tcp')
      const length = Buffer.alloc(2)
      length.writeUInt16BE(answer?.length ?? 0)
      if (answer) connection.end(Buffer.concat([length, answer]))
    })
  })
  peer.address = `${host}:${(socket.address() as AddressInfo).port}`
  peer.close = async () => {
    socket.close()
    server.close()
    await once(socket, 'close')
  }
  return peer
}

/** One number for both; the system gives one that is free for the first, and the second may find it taken. */
async function listenAt(host: string, port: number): Promise<{ socket: Socket; server: Server }> {
  for (let tries = 20; ; tries--) {
    const socket = createSocket('udp4')
    const server = createServer()
    socket.bind(port, host)
    await once(socket, 'listening')
    try {
      server.listen((socket.address() as AddressInfo).port, host)
      await once(server, 'listening')
      return { socket, server }
    } catch (error) {
      socket.close()
      if (port !== 0 || tries === 0) throw error
    }
  }
}

function answerTo(query: Buffer, { names, asked }: DnsPeer, by: 'udp' | 'tcp'): Buffer | null {
  const { name, end } = nameAt(query, 12)
  const number = query.readUInt16BE(end)
  const type = number === cname ? 'CNAME' : (Object.keys(types) as RecordType[]).find((known) => types[known] === number)
  asked.push(`${type ?? number} ${name.toLowerCase()}`)
  const known = nameIn(names, name)
  if (known?.fails === 'silence') return null
  const isCut = known?.isLong === true && by === 'udp'
  const records = type && !isCut && !known?.fails ? recordsOf(names, name, type) : []
  const code = known?.fails === 'SERVFAIL' ? 2 : known?.fails === 'REFUSED' ? 5 : known ? 0 : 3
  const header = Buffer.alloc(12)
  query.copy(header, 0, 0, 2)
  // A response, recursion desired and available.
  header.writeUInt16BE(0x8180 | (isCut ? 0x0200 : 0) | code, 2)
  const repeats = by === 'udp' ? known?.repeats : undefined
  header.writeUInt16BE(repeats === 'nothing' ? 0 : 1, 4)
  header.writeUInt16BE(records.length, 6)
  const question = [repeats ? nameBytes(name.toLowerCase()) : query.subarray(12, end), query.subarray(end, end + 4)]
  return Buffer.concat([header, ...(repeats === 'nothing' ? [] : question), ...records])
}

/** A name that is not there itself may be there as `*.example.test` (RFC 4592). */
const nameIn = (names: DnsPeer['names'], name: string): DnsName | undefined =>
  names[name.toLowerCase()] ?? names[name.toLowerCase().replace(/^[^.]+/, '*')]

function nameAt(bytes: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = []
  let at = start
  while (bytes[at]) {
    const length = bytes[at] as number
    labels.push(bytes.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), end: at + 1 }
}

function recordsOf(names: DnsPeer['names'], name: string, type: RecordType | 'CNAME'): Buffer[] {
  const known = nameIn(names, name)
  const place = { name, ttl: known?.ttl ?? 60 }
  if (known?.CNAME) {
    const alias = recordOf(place, cname, nameBytes(known.CNAME))
    return type === 'CNAME' ? [alias] : [alias, ...recordsOf(names, known.CNAME, type)]
  }
  if (type === 'CNAME') return []
  return (known?.[type] ?? []).map((value) => recordOf(place, types[type], dataOf(type, value)))
}

function recordOf({ name, ttl }: { name: string; ttl: number }, type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(10)
  head.writeUInt16BE(type, 0)
  head.writeUInt16BE(1, 2)
  head.writeUInt32BE(ttl, 4)
  head.writeUInt16BE(data.length, 8)
  return Buffer.concat([nameBytes(name), head, data])
}

function dataOf(type: RecordType, value: string | [number, string]): Buffer {
  if (Array.isArray(value)) {
    const preference = Buffer.alloc(2)
    preference.writeUInt16BE(value[0])
    return Buffer.concat([preference, nameBytes(value[1])])
  }
  if (type === 'A') return Buffer.from(value.split('.').map(Number))
  if (type === 'AAAA') return addressBytes(value)
  if (type === 'NS') return nameBytes(value)
  if (type === 'CAA') return caaBytes(value)
  // A text is a row of strings of at most 255 octets (RFC 1035 section 3.3.14): a key of RSA needs two.
  const strings = value.match(/.{1,255}/gs) ?? ['']
  return Buffer.concat(strings.flatMap((string) => [Buffer.from([string.length]), Buffer.from(string, 'latin1')]))
}

function caaBytes(written: string): Buffer {
  const [flags = '0', tag = '', ...value] = written.split(' ')
  return Buffer.concat([Buffer.of(Number(flags), tag.length), Buffer.from(`${tag}${value.join(' ')}`)])
}

const nameBytes = (name: string): Buffer =>
  Buffer.concat([
    ...name
      .split('.')
      .filter(Boolean)
      .map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ])

function addressBytes(address: string): Buffer {
  const [before = '', after = ''] = address.split('::')
  const groups = (text: string) => text.split(':').filter(Boolean)
  const missing = 8 - groups(before).length - groups(after).length
  const all = [...groups(before), ...Array<string>(Math.max(0, missing)).fill('0'), ...groups(after)]
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex')
}

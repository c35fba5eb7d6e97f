import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

/** What a name has. A name that is not there does not exist (NXDOMAIN); a type that is not there is an empty answer. */
export interface DnsName {
  MX?: [preference: number, host: string][]
  A?: string[]
  AAAA?: string[]
  TXT?: string[]
  /** What has it has nothing else. The answer holds the whole chain, as that of a resolver does. */
  CNAME?: string
  /** In place of any answer. */
  fails?: 'SERVFAIL' | 'silence'
}

export interface DnsPeer {
  /** As DNS_SERVERS wants it. */
  address: string
  /** May be changed at any time. */
  names: Record<string, DnsName>
  /** "MX example.test", in order. */
  asked: string[]
  close(): Promise<void>
}

const types = { A: 1, MX: 15, TXT: 16, AAAA: 28 } as const
const cname = 5
type RecordType = keyof typeof types

/** A DNS server on UDP (RFC 1035) that knows a few names. */
export async function startDnsPeer(names: Record<string, DnsName>): Promise<DnsPeer> {
  const socket = createSocket('udp4')
  const asked: string[] = []
  const peer: DnsPeer = {
    address: '',
    names,
    asked,
    close: async () => {
      socket.close()
      await once(socket, 'close')
    },
  }
  socket.on('message', (query, from) => {
    const answer = answerTo(query, peer)
    if (answer) socket.send(answer, from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  peer.address = `127.0.0.1:${(socket.address() as AddressInfo).port}`
  return peer
}

function answerTo(query: Buffer, { names, asked }: DnsPeer): Buffer | null {
  const { name, end } = nameAt(query, 12)
  const number = query.readUInt16BE(end)
  const type = (Object.keys(types) as RecordType[]).find((known) => types[known] === number)
  asked.push(`${type ?? number} ${name}`)
  const known = names[name.toLowerCase()]
  if (known?.fails === 'silence') return null
  const records = type ? recordsOf(names, name, type) : []
  const code = known?.fails === 'SERVFAIL' ? 2 : known ? 0 : 3
  const header = Buffer.alloc(12)
  query.copy(header, 0, 0, 2)
  // A response, recursion desired and available.
  header.writeUInt16BE(0x8180 | code, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(records.length, 6)
  return Buffer.concat([header, query.subarray(12, end + 4), ...records])
}

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

function recordsOf(names: DnsPeer['names'], name: string, type: RecordType): Buffer[] {
  const known = names[name.toLowerCase()]
  if (known?.CNAME) return [recordOf(name, cname, nameBytes(known.CNAME)), ...recordsOf(names, known.CNAME, type)]
  return (known?.[type] ?? []).map((value) => recordOf(name, types[type], dataOf(type, value)))
}

/** One record, good for a minute. */
function recordOf(name: string, type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(10)
  head.writeUInt16BE(type, 0)
  head.writeUInt16BE(1, 2)
  head.writeUInt32BE(60, 4)
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
  // A text is a row of strings of at most 255 octets (RFC 1035 section 3.3.14): a key of RSA needs two.
  const strings = value.match(/.{1,255}/gs) ?? ['']
  return Buffer.concat(strings.flatMap((string) => [Buffer.from([string.length]), Buffer.from(string, 'latin1')]))
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

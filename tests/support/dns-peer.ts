import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { after } from 'node:test'

/** The IPv4 addresses of a name; `null` for no answer at all. */
type Addresses = (name: string) => string[] | null

export interface DnsPeer {
  /** As DNS_SERVERS has it. */
  server: string
  /** What was asked for, as `A name` and `AAAA name`. */
  asked: string[]
}

const types: Record<number, string> = { 1: 'A', 28: 'AAAA' }

/** A DNS server on this machine that knows what the test tells it. */
export async function startDnsPeer(addressesOf: Addresses): Promise<DnsPeer> {
  const asked: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (query, from) => {
    // RFC 1035 section 4.1.2: the labels of the name, each after its length, then type and class.
    const end = query.indexOf(0, 12)
    const labels: string[] = []
    for (let at = 12; at < end; at += 1 + (query[at] as number))
      labels.push(query.toString('ascii', at + 1, at + 1 + (query[at] as number)))
    const type = types[query.readUInt16BE(end + 1)] as string
    const name = labels.join('.')
    asked.push(`${type} ${name}`)
    const addresses = addressesOf(name)
    if (addresses === null) return
    const records = type === 'A' ? addresses.map(recordOf) : []
    const answer = Buffer.concat([query.subarray(0, end + 5), ...records])
    answer.writeUInt16BE(0x8180, 2)
    answer.writeUInt16BE(records.length, 6)
    answer.writeUInt16BE(0, 10) // without the EDNS record of the question
    socket.send(answer, from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  after(() => socket.close())
  return { server: `127.0.0.1:${socket.address().port}`, asked }
}

/** RFC 1035 section 4.1.3: the name by pointer, type A, class IN, no time to live, four bytes. */
const recordOf = (ip: string) => Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...ip.split('.').map(Number)])

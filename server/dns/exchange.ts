import { randomBytes, randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { connect, isIPv6 } from 'node:net'
import { reasonOf } from '../base/errors.ts'
import { type RecordType, type Reply, readReply, typeNumberOf, writeQuestion } from './message.ts'
import { shownName } from './shown.ts'

export interface NameServer {
  address: string
  port: number
}

/** `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`. */
export function parseServer(text: string): NameServer {
  const [, bracketed, plain, port = '53'] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? []
  return { address: bracketed ?? plain ?? text, port: Number(port) }
}

interface Asked {
  name: string
  type: RecordType
}

export interface Patience {
  timeoutMs: number
  /** Ends all that is under way when the program stops. */
  signal: AbortSignal
}

/** One question to one server: by UDP, and by TCP when the reply does not fit. Throws when no reply comes that answers it. */
export async function askServer(server: NameServer, { name, type }: Asked, patience: Patience): Promise<Reply> {
  const id = randomInt(0x10000)
  const asked = mixCase(name)
  const question = writeQuestion({ id, name: asked, type })
  if (!question) throw new Error(`${shownName(name)} is no name that DNS can have`)
  const answersIt = (reply: Reply): boolean =>
    reply.id === id &&
    (reply.question === null || (reply.question.name.toLowerCase() === name.toLowerCase() && reply.question.type === typeNumberOf(type)))
  const reply = await byUdp(server, question, { ...patience, answersIt })
  // RFC 5452 section 9.1: by UDP what was asked is repeated, to the letter. Who does not is asked in a way that others cannot forge.
  const isProved = reply.question?.name === asked
  return reply.isTruncated || !isProved ? byTcp(server, question, { ...patience, answersIt }) : reply
}

/** Capitals by chance: servers repeat them and mind none, so they are one more thing that a forger has to guess. */
function mixCase(name: string): string {
  const chances = randomBytes(name.length)
  return name.replace(/[a-z]/gi, (letter, at: number) => (chances.readUInt8(at) & 1 ? letter.toUpperCase() : letter.toLowerCase()))
}

interface Exchange extends Patience {
  answersIt(reply: Reply): boolean
}

/** A port of its own for each question, by chance: together with the id and the capitals it is what a forger has to guess (RFC 5452). */
function byUdp({ address, port }: NameServer, question: Buffer, { timeoutMs, signal, answersIt }: Exchange): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
    const finish = (end: () => void) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      socket.removeAllListeners('message').close()
      end()
    }
    const onAbort = () => finish(() => reject(new Error('the program is stopping')))
    const timer = setTimeout(() => finish(() => reject(new Error(`${address} did not answer in time`))), timeoutMs)
    socket.once('error', (error) => finish(() => reject(error)))
    socket.on('message', (bytes) => {
      const reply = replyIn(bytes)
      // What answers another question, or none, may be somebody's guess: the true one may still come.
      if (reply && answersIt(reply)) finish(() => resolve(reply))
    })
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort)
    // Connected: what others send does not come in.
    socket.connect(port, address, () => socket.send(question))
  })
}

function replyIn(bytes: Buffer): Reply | null {
  try {
    return readReply(bytes)
  } catch {
    // Not a reply that can be read, so none that counts; the time limit says so in the end.
    return null
  }
}

/** RFC 7766: each message has its length before it. */
function byTcp({ address, port }: NameServer, question: Buffer, { timeoutMs, signal, answersIt }: Exchange): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, signal })
    const deadline = setTimeout(() => socket.destroy(new Error(`${address} did not answer in time`)), timeoutMs)
    let received = Buffer.alloc(0)
    socket.once('connect', () => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(question.length)
      socket.write(Buffer.concat([length, question]))
    })
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes])
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return
      try {
        const reply = readReply(received.subarray(2, 2 + received.readUInt16BE(0)))
        if (!answersIt(reply)) throw new Error(`${address} answered another question`)
        resolve(reply)
        socket.destroy()
      } catch (error) {
        socket.destroy(error as Error)
      }
    })
    socket.once('error', (error) => reject(new Error(reasonOf(error))))
    socket.once('close', () => {
      clearTimeout(deadline)
      reject(new Error(`${address} closed the connection without an answer`))
    })
  })
}

import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { Faults, SinkOrder, SinkReport } from './sink-orders.ts'

/**
 * An SMTP server in a process of its own, so that nothing that is killed takes its memory along. It remembers whom it accepted a message
 * for, and for whom it did so without knowing that the sender heard of it.
 */
let faults: Faults = {}
const accepted = new Map<string, number>()
const refused = new Set<string>()
/** The final dot was answered, or about to be, when the connection ended; the next body or QUIT would have proved that it was heard. */
const unanswered: string[] = []
let total = 0
const happens = (name: keyof Faults): boolean => Math.random() < (faults[name] ?? 0)
const end = Buffer.from('\r\n.\r\n')

class Session {
  readonly #socket: Socket
  #input: Buffer = Buffer.alloc(0)
  #isInMessage = false
  #isHanging = false
  #recipient = ''
  #unproved: string | null = null

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('error', () => {})
    socket.on('close', () => {
      if (this.#unproved !== null) unanswered.push(this.#unproved)
    })
    socket.on('data', (chunk: Buffer) => {
      this.#input = Buffer.concat([this.#input, chunk])
      this.#read()
    })
    this.#say('220 sink ESMTP')
  }

  #say(line: string): void {
    if (this.#socket.writable) this.#socket.write(`${line}\r\n`)
  }

  #read(): void {
    while (!this.#isHanging && !this.#socket.destroyed && this.#input.length > 0) {
      // The first byte of a body answers our 354, which came after the yes to the message before.
      if (this.#isInMessage) this.#unproved = null
      const at = this.#input.indexOf(this.#isInMessage ? end : '\r\n')
      if (at < 0) return
      const text = this.#isInMessage ? '' : this.#input.toString('latin1', 0, at)
      this.#input = this.#input.subarray(at + (this.#isInMessage ? end.length : 2))
      if (this.#isInMessage) this.#hearMessage()
      else this.#hearCommand(text)
    }
  }

  #hearCommand(line: string) {
    const verb = line.slice(0, 4).toUpperCase()
    if (verb === 'EHLO') return this.#say('250-sink\r\n250-PIPELINING\r\n250 8BITMIME')
    if (verb === 'RCPT') return this.#hearRecipient(/<(.*)>/.exec(line)?.[1] ?? '')
    if (verb === 'DATA') {
      if (this.#recipient === '') return this.#say('503 5.5.1 no recipient')
      this.#isInMessage = true
      return this.#say('354 go')
    }
    if (verb === 'QUIT') {
      this.#unproved = null
      this.#socket.end('221 bye\r\n')
      return
    }
    if (verb === 'MAIL' || verb === 'RSET') this.#recipient = ''
    this.#say('250 ok')
  }

  #hearRecipient(address: string) {
    if (happens('refuse')) {
      refused.add(address)
      return this.#say('550 5.1.1 no such user')
    }
    if (happens('defer')) return this.#say('451 4.3.0 come back later')
    this.#recipient = address
    if (!happens('hang')) return this.#say('250 ok')
    this.#isHanging = true
    setTimeout(() => {
      this.#isHanging = false
      this.#say('250 ok')
      this.#read()
    }, faults.hangMs ?? 2_000)
  }

  #hearMessage() {
    this.#isInMessage = false
    if (happens('drop')) return this.#socket.destroy()
    if (happens('deferMessage')) return this.#say('451 4.3.0 come back later')
    accepted.set(this.#recipient, (accepted.get(this.#recipient) ?? 0) + 1)
    total++
    this.#unproved = this.#recipient
    this.#recipient = ''
    if (happens('dropAccepted')) return this.#socket.destroy()
    this.#say('250 2.0.0 ok')
  }
}

const sockets = new Set<Socket>()
const listen = (port: number): Server =>
  createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    new Session(socket)
  }).listen(port, '127.0.0.1')

let server = listen(0)
server.once('listening', () => process.send?.({ port: (server.address() as AddressInfo).port }))

const report = (): SinkReport => ({ accepted: [...accepted], refused: [...refused], unanswered })

process.on('message', (order: SinkOrder) => {
  if (order.order === 'behave') faults = order.faults
  else if (order.order === 'count') process.send?.({ total })
  else if (order.order === 'report') process.send?.(report())
  else restart(order.awayMs)
})
process.on('disconnect', () => process.exit())

/** Everybody is cut off, and nobody answers for a while. */
function restart(awayMs: number): void {
  const { port } = server.address() as AddressInfo
  server.close()
  for (const socket of sockets) socket.destroy()
  setTimeout(() => {
    server = listen(port)
  }, awayMs)
}

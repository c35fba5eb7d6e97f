import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSecureContext, TLSSocket } from 'node:tls'
import { peerCertificate, peerKey } from './peer-certificate.ts'
import { type AuthDialog, startAuth } from './smtp-peer-auth.ts'
import type { PeerStage, ReceivedMessage, SmtpPeerOptions } from './smtp-peer-script.ts'

export type { PeerAction, PeerCall, PeerScript, ReceivedMessage, SmtpPeerOptions } from './smtp-peer-script.ts'

export interface SmtpPeer {
  port: number
  /** What was answered with 2xx after the final dot. */
  messages: ReceivedMessage[]
  /** What arrived whole and was not accepted: refused, or never answered. */
  refused: ReceivedMessage[]
  /** Every command line of every connection, in order. */
  commands: string[]
  /** How many connections were opened so far. */
  connections: number
  /** How many are open now. */
  open: number
  close(): Promise<void>
}

/** An SMTP server on a real socket that does exactly what its script says. */
export async function startSmtpPeer(options: SmtpPeerOptions = {}): Promise<SmtpPeer> {
  const sessions = new Set<Session>()
  const reached = new Map<PeerStage, number>()
  const peer: SmtpPeer = {
    port: 0,
    messages: [],
    refused: [],
    commands: [],
    connections: 0,
    open: 0,
    close: () => stop(server, sessions),
  }
  // Without noDelay the three replies to a pipelined envelope wait 40 ms for one another.
  const server = createServer({ noDelay: true }, (socket) => {
    peer.connections++
    peer.open++
    const session = new Session(peer, options, reached)
    sessions.add(session)
    socket.on('close', () => {
      peer.open--
      sessions.delete(session)
    })
    session.start(socket)
  })
  server.listen(options.port ?? 0, options.host ?? '127.0.0.1')
  await once(server, 'listening')
  peer.port = (server.address() as AddressInfo).port
  return peer
}

async function stop(server: Server, sessions: Set<Session>): Promise<void> {
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  for (const session of sessions) session.destroy()
  await closed
}

class Session {
  readonly #peer: SmtpPeer
  readonly #options: SmtpPeerOptions
  readonly #reached: Map<PeerStage, number>
  readonly #connection: number
  #socket: Socket | TLSSocket | null = null
  #input = Buffer.alloc(0)
  #isBusy = false
  /** We hung up: what the client had sent ahead is not heard any more. */
  #isOver = false
  #isReadingMessage = false
  #envelope: { from: string; parameters: string; to: string[] } | null = null
  #login: string | null = null
  #auth: AuthDialog | null = null

  constructor(peer: SmtpPeer, options: SmtpPeerOptions, reached: Map<PeerStage, number>) {
    this.#peer = peer
    this.#options = options
    this.#reached = reached
    this.#connection = peer.connections
  }

  start(socket: Socket): void {
    if (this.#options.secure) this.#startTls(socket)
    else this.#attach(socket)
    void this.#exclusively(() => this.#act('atGreeting', '', '220 peer.test ESMTP'))
  }

  destroy(): void {
    this.#isOver = true
    this.#socket?.destroy()
  }

  #attach(socket: Socket | TLSSocket): void {
    this.#socket = socket
    // A client that resets the connection, or dislikes our certificate, is part of the play.
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      this.#input = Buffer.concat([this.#input, chunk])
      if (this.#isReadingMessage && this.#input.length >= (this.#options.dropInMessageAfter ?? Number.POSITIVE_INFINITY))
        return this.destroy()
      void this.#exclusively(async () => {})
    })
  }

  #startTls(socket: Socket): void {
    socket.removeAllListeners('data')
    this.#input = Buffer.alloc(0)
    const secureContext = createSecureContext(this.#options.certificate ?? { key: peerKey, cert: peerCertificate })
    this.#attach(new TLSSocket(socket, { isServer: true, secureContext }))
  }

  /** One thing at a time: while a reply is delayed, or never comes, what the client sends waits. */
  async #exclusively(first: () => Promise<unknown>): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    await first()
    while (await this.#takeNext()) {}
    this.#isBusy = false
  }

  async #takeNext(): Promise<boolean> {
    if (this.#isOver) return false
    if (this.#isReadingMessage) return this.#takeMessage()
    const end = this.#input.indexOf('\r\n')
    if (end < 0) return false
    const line = this.#input.toString('utf8', 0, end)
    this.#input = this.#input.subarray(end + 2)
    this.#peer.commands.push(line)
    await (this.#auth ? this.#logIn(this.#auth, line) : this.#command(line))
    return true
  }

  async #takeMessage(): Promise<boolean> {
    const isEmpty = this.#input.indexOf('.\r\n') === 0
    const end = isEmpty ? -2 : this.#input.indexOf('\r\n.\r\n')
    if (end === -1) return false
    const raw = Buffer.from(this.#input.toString('latin1', 0, end + 2).replace(/(^|\r\n)\./g, '$1'), 'latin1')
    this.#input = this.#input.subarray(end + 5)
    this.#isReadingMessage = false
    const envelope = this.#envelope
    this.#envelope = null
    const message: ReceivedMessage = {
      ...(envelope ?? { from: '', parameters: '', to: [] }),
      raw,
      tls: this.#socket instanceof TLSSocket,
      login: this.#login,
    }
    this.#peer.refused.push(message)
    await this.#act('atDot', '', '250 2.0.0 queued', () => {
      this.#peer.refused.splice(this.#peer.refused.indexOf(message), 1)
      this.#peer.messages.push(message)
    })
    return true
  }

  async #command(line: string): Promise<void> {
    const verb = line.split(/[ :]/, 1)[0]?.toUpperCase() ?? ''
    switch (verb) {
      case 'EHLO':
        return this.#act('atEhlo', line, this.#extensions())
      case 'HELO':
        return this.#act('atEhlo', line, '250 peer.test')
      case 'STARTTLS':
        return this.#act('atStartTls', line, '220 2.0.0 go ahead', () => this.#socket && this.#startTls(this.#socket))
      case 'AUTH':
        return this.#logIn(startAuth(line), line)
      case 'MAIL':
        return this.#act('atMail', line, '250 2.1.0 ok', () => {
          this.#envelope = { from: pathIn(line), parameters: line.slice(line.indexOf('>') + 1).trim(), to: [] }
        })
      case 'RCPT':
        if (!this.#envelope) return this.#write('503 5.5.1 MAIL first')
        return this.#act('atRcpt', line, '250 2.1.5 ok', () => this.#envelope?.to.push(pathIn(line)))
      case 'DATA':
        if (!this.#envelope?.to.length && !this.#options.takesDataAnyway) return this.#write('503 5.5.1 RCPT first')
        return this.#act('atData', line, '354 go ahead', () => (this.#isReadingMessage = true))
      case 'RSET':
        this.#envelope = null
        return this.#write('250 2.0.0 ok')
      case 'QUIT':
        return this.#end('221 2.0.0 bye\r\n')
      default:
        return this.#write('502 5.5.2 command not recognised')
    }
  }

  /** Asks for the rest until it has all of it; then the script decides. */
  async #logIn(dialog: AuthDialog, line: string): Promise<void> {
    const next = dialog.next(line)
    this.#auth = next === null ? null : dialog
    if (next !== null) return this.#write(next)
    await this.#act('atAuth', line, '235 2.7.0 welcome', () => {
      this.#login = dialog.login
    })
  }

  #extensions(): string {
    const { starttls, smtputf8 = true, pipelining = true, eightBitMime = true, auth, size } = this.#options.offers ?? {}
    const isSecure = this.#socket instanceof TLSSocket
    const lines = ['peer.test', starttls && !isSecure && 'STARTTLS', smtputf8 && 'SMTPUTF8', pipelining && 'PIPELINING']
    const more = [
      eightBitMime && '8BITMIME',
      auth && `AUTH ${auth === true ? 'PLAIN' : auth}`,
      size && `SIZE ${size}`,
      'ENHANCEDSTATUSCODES',
    ]
    const all = [...lines, ...more].filter((line) => typeof line === 'string')
    return all.map((line, index) => `250${index === all.length - 1 ? ' ' : '-'}${line}`).join('\r\n')
  }

  /** Plays a stage. `onYes` runs when the reply is 2xx or 3xx, before it is on the wire so that a test never looks too early. */
  async #act(stage: PeerStage, line: string, usual: string, onYes?: () => unknown): Promise<void> {
    const before = this.#reached.get(stage) ?? 0
    this.#reached.set(stage, before + 1)
    const script = this.#options[stage]
    let action =
      (typeof script === 'function'
        ? script({ line, before, connection: this.#connection, ahead: this.#input.toString('latin1') })
        : script) ?? usual
    while (typeof action === 'object' && 'delayMs' in action) {
      await sleep(action.delayMs)
      action = action.then ?? usual
    }
    if (typeof action === 'object' && 'heldUntil' in action) {
      await action.heldUntil
      action = usual
    }
    if (typeof action === 'string') {
      // The yes to STARTTLS is the last thing in clear text.
      if (stage === 'atStartTls') this.#write(action)
      if (/^[23]/.test(action)) onYes?.()
      if (stage !== 'atStartTls') this.#write(action)
    } else if ('hang' in action) await new Promise((resolve) => this.#socket?.once('close', resolve))
    else if ('pieces' in action) await this.#writePieces(action.pieces, onYes)
    else if ('trickle' in action) await this.#trickle(action.trickle, action.everyMs)
    else if ('drop' in action && 'raw' in action) this.#end(action.raw)
    else if ('raw' in action) this.#socket?.write(action.raw)
    else this.destroy()
  }

  async #writePieces(pieces: string[], onYes?: () => unknown): Promise<void> {
    if (/^[23]/.test(pieces.join(''))) onYes?.()
    for (const piece of pieces) {
      this.#socket?.write(piece)
      await sleep(2)
    }
  }

  async #trickle(piece: string, everyMs: number): Promise<void> {
    while (this.#socket?.writable) {
      this.#socket.write(piece)
      await sleep(everyMs)
    }
  }

  #end(last: string): void {
    this.#isOver = true
    this.#socket?.end(last)
  }

  #write(line: string): void {
    if (this.#socket?.writable) this.#socket.write(`${line}\r\n`)
  }
}

/** The address in "MAIL FROM:<a@b> SIZE=1". */
const pathIn = (line: string) => /<(.*?)>/.exec(line)?.[1] ?? ''

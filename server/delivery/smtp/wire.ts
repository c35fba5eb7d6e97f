import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Endpoint, SmtpLimits } from './endpoint.ts'
import { NotSmtp, type Reply, ReplyReader } from './reply.ts'
import { errorOfSocket, SmtpError } from './smtp-error.ts'

/** Who hears what comes over a wire. */
export interface WireListener {
  /** Whole replies in their order. `hasMore`: the peer has already said something after it. */
  onReply(reply: Reply, hasMore: boolean): void
  /** Silence for as long as `patience` said. The wire stays as it is. */
  onSilence(): void
  /** The end, once. The socket is gone. */
  onFailure(error: SmtpError): void
}

/** A socket to an SMTP server: bytes out, replies in. Knows nothing of what they mean. */
export class Wire {
  #socket: Socket
  #reader = new ReplyReader()
  #listener: WireListener | null = null
  #patienceMs = 0
  /** When the part of a reply came that is not whole yet. */
  #waitsForRestSince: number | null = null
  #isOver = false

  constructor(socket: Socket) {
    this.#socket = socket
    this.#attach()
  }

  set listener(listener: WireListener) {
    this.#listener = listener
  }

  /** From now on silence is told after this long. Bytes in either direction break it. */
  set patience(ms: number) {
    if (ms === this.#patienceMs) return
    this.#patienceMs = ms
    this.#socket.setTimeout(ms)
  }

  write(text: string): void {
    this.#socket.write(text)
  }

  /** Body and commands in one flight, the parts as they are. */
  writeAll(parts: readonly Buffer[], text: string): void {
    this.#socket.cork()
    for (const part of parts) this.#socket.write(part)
    this.#socket.write(text)
    this.#socket.uncork()
  }

  /** Whether everything written has been given to the system. */
  get isFlushed(): boolean {
    return this.#socket.writableLength === 0
  }

  /** The same wire, encrypted. What the peer said in clear text after its yes is an attempt to speak as if encrypted. */
  async encrypt({ host, tls }: Endpoint, timeoutMs: number): Promise<void> {
    if (this.#reader.hasMore) throw new SmtpError('tls', 'more in clear text after the yes to STARTTLS')
    const plain = this.#socket
    plain.setTimeout(0)
    for (const [event, hear] of this.#events) plain.off(event, hear)
    const servername = isIP(host) ? '' : host
    const socket = connectTls({ socket: plain, host, servername, rejectUnauthorized: tls !== 'opportunistic' })
    this.#socket = socket
    this.#patienceMs = 0
    await isOpen(socket, { event: 'secureConnect', timeoutMs, toError: (error) => new SmtpError('tls', error.message) })
    this.#reader = new ReplyReader()
    this.#attach()
  }

  /** Says the last words and hangs up; whoever does not hang up as well is cut off. */
  end(text: string): void {
    this.patience = 2_000
    this.#socket.end(text)
  }

  /** Ends at once. The listener hears the error. */
  fail(error: SmtpError): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#socket.destroy()
    this.#listener?.onFailure(error)
  }

  #attach(): void {
    this.#socket.setNoDelay(true)
    for (const [event, hear] of this.#events) this.#socket.on(event, hear)
  }

  readonly #hearEnd = () => this.fail(new SmtpError('closed', 'the connection was closed'))
  readonly #events: [event: string, hear: (value?: unknown) => void][] = [
    ['data', (chunk) => this.#read(chunk as Buffer)],
    ['timeout', () => this.#listener?.onSilence()],
    ['error', (error) => this.fail(errorOfSocket(error as Error))],
    ['end', this.#hearEnd],
    ['close', this.#hearEnd],
  ]

  #read(chunk: Buffer) {
    this.#reader.push(chunk)
    try {
      for (;;) {
        if (this.#isOver) return
        const reply = this.#reader.next()
        if (!reply) break
        this.#waitsForRestSince = null
        this.#listener?.onReply(reply, this.#reader.hasMore)
      }
    } catch (error) {
      if (!(error instanceof NotSmtp)) throw error
      return this.fail(new SmtpError('not_smtp', error.message))
    }
    this.#refuseTrickle()
  }

  /** A reply that comes drop by drop breaks the silence again and again, so it is measured as a whole. */
  #refuseTrickle(): void {
    if (!this.#reader.hasMore) return
    const now = performance.now()
    this.#waitsForRestSince ??= now
    if (now - this.#waitsForRestSince > Math.max(this.#patienceMs, 1_000)) this.#listener?.onSilence()
  }
}

/** Connects to each address of the host in turn until one answers. */
export async function openWire(endpoint: Endpoint, { connect_ms }: SmtpLimits, signal: AbortSignal): Promise<Wire> {
  const { host, port, lookup } = endpoint
  const to = {
    host,
    port,
    autoSelectFamily: true,
    // Each address but the last gets this long; the standard 250 ms would give up on servers at the other end of the world.
    autoSelectFamilyAttemptTimeout: Math.max(10, Math.floor(connect_ms / 3)),
    ...(lookup ? { lookup } : {}),
  }
  if (endpoint.tls !== 'implicit') {
    const socket = connectTcp(to)
    await isOpen(socket, { event: 'connect', timeoutMs: connect_ms, toError: errorOfSocket, signal })
    return new Wire(socket)
  }
  const socket = connectTls({ ...to, servername: isIP(host) ? '' : host })
  await isOpen(socket, { event: 'secureConnect', timeoutMs: connect_ms, toError: errorOfSocket, signal })
  return new Wire(socket)
}

interface Opening {
  event: 'connect' | 'secureConnect'
  timeoutMs: number
  toError(error: Error): SmtpError
  signal?: AbortSignal
}

function isOpen(socket: Socket, { event, timeoutMs, toError, signal }: Opening): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const late = event === 'connect' || socket.connecting ? 'slow_start' : 'tls'
      stop(new SmtpError(late, `no ${event} within ${timeoutMs} ms`))
    }, timeoutMs)
    const stop = (error: SmtpError | null) => {
      clearTimeout(timer)
      socket.off(event, onOpen)
      socket.off('close', onClose)
      signal?.removeEventListener('abort', onAbort)
      if (!error) {
        socket.off('error', onError)
        return resolve()
      }
      // An error may still come while the socket goes away; it was told already.
      socket.destroy()
      reject(error)
    }
    const onOpen = () => stop(null)
    const onError = (error: Error) => stop(toError(error))
    const onClose = () => stop(toError(new Error('the connection was closed')))
    const onAbort = () => stop(new SmtpError('shutdown', 'cut off while connecting'))
    signal?.addEventListener('abort', onAbort)
    socket.on(event, onOpen)
    socket.on('error', onError)
    socket.on('close', onClose)
  })
}

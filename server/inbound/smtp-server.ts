import { lookup, type Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import type { SMTPServer, SMTPServerSession } from 'smtp-server'
import type { Clock } from '../base/clock.ts'
import { reasonOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Secrets } from '../base/secrets.ts'
import type { Database } from '../database/database.ts'
import { countAnswer } from '../metrics/counters.ts'
import type { Certificate } from './certificate.ts'
import { MailServer } from './mail-stream.ts'
import { createMessageMemory } from './message-memory.ts'
import { createNetworks } from './networks.ts'
import { peerLimits } from './peer-limits.ts'
import { RefusalError, refusals } from './refusal.ts'
import { createSessions, type Sessions } from './sessions.ts'
import { createSpool, type Taker } from './spool.ts'
import { stageTimes } from './stage-times.ts'

export interface SmtpServerOptions {
  database: Database
  secrets: Secrets
  clock: Clock
  log: Log
  resolver: Resolver
  host: string
  /** 0 takes a free one. */
  port: number
  /** What the server calls itself, and where `postmaster` without a domain is. */
  mailDomain: string
  certificate: Certificate
  maxSize: number
  maxConnections: number
  /** Whose PROXY header is believed: addresses, or `*` for everybody's. */
  proxies: string[]
  /** Servers of one's own that hand mail on: they are not counted, not looked up and not asked to come again. */
  relays: string[]
  dnsbl: string[]
  isGreylisting: boolean
  /** Who files in this process, if anybody does. */
  taker?: Taker
  limits?: { peers: typeof peerLimits; times: typeof stageTimes; in_flight_bytes?: number }
}

export interface InboundSmtpServer {
  port: number
  renew(certificate: Certificate): void
  /** Takes no new mail, finishes what is being handed over, and resolves when all of it is stored or refused. */
  stop(): Promise<void>
}

/** A message under way is waited for this long at a stop. */
const stopMs = 10_000
const maxRecipients = 100
/** RFC 5321 section 4.5.3.1.4 asks for 512 octets, and extensions add some. */
const maxCommandLength = 4_096
const watchEveryMs = 1_000

/** Several messages of full size at once, but never less than lets a usual load through. */
const inFlightBytes = (maxSize: number): number => Math.max(64 * 1024 * 1024, 4 * maxSize)

/** Takes mail from the world up to the 250, which is said after the commit and not before. */
export async function startSmtpServer(options: SmtpServerOptions): Promise<InboundSmtpServer> {
  const { log, limits = { peers: peerLimits, times: stageTimes } } = options
  const spool = createSpool(options)
  const memory = createMessageMemory(limits.in_flight_bytes ?? inFlightBytes(options.maxSize))
  const sessions = createSessions({ ...options, spool, memory, limits, isRelay: createNetworks(options.relays) })
  const server = new MailServer({
    ...withoutTlsBelow12(options.certificate),
    name: options.mailDomain,
    size: options.maxSize,
    maxClients: options.maxConnections,
    maxRecipients,
    maxCommandLength,
    // The wait of 100 ms before the greeting has no option, and it is worth having: programs that talk before they are greeted are cut off.
    socketTimeout: 180_000,
    closeTimeout: stopMs,
    // There is no mail to submit here, and jokes are for other servers.
    disabledCommands: ['AUTH', 'XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL'],
    hideENHANCEDSTATUSCODES: false,
    disableReverseLookup: true,
    useProxy: options.proxies.includes('*') || options.proxies,
    logger: false,
    ...handlersOf({ sessions, log }, (session) => connectionOf(server, session)?.close()),
  })
  // Handshakes that fail and peers that vanish are everyday; the listener's own errors come out of `listen`.
  server.on('error', (error) => log.debug({ reason: reasonOf(error) }, 'a connection for mail failed'))
  const listeners = await listenOnAll(server, options)
  const watch = setInterval(() => endSlow(server, sessions, options.maxConnections), watchEveryMs)
  watch.unref()
  return {
    port: (server.server.address() as AddressInfo).port,
    renew: (certificate) => server.updateSecureContext(withoutTlsBelow12(certificate)),
    async stop() {
      clearInterval(watch)
      await closeAll(server, listeners, sessions)
      await sessions.settled()
    },
  }
}

/** RFC 8996. What knows no better sends in the clear, as it would without TLS at all. */
const withoutTlsBelow12 = ({ cert, key }: Certificate) => ({ cert, key, minVersion: 'TLSv1.2' as const })

type Answer = (error?: Error | null) => void

function handlersOf({ sessions, log }: { sessions: Sessions; log: Log }, close: (session: SMTPServerSession) => void) {
  const answer = (session: SMTPServerSession, callback: Answer, refusal: Awaited<ReturnType<Sessions['onRecipient']>>) => {
    if (!refusal) return callback()
    const { code, enhanced, text } = refusal
    countAnswer(code)
    log.debug({ session_id: session.id, peer: session.remoteAddress, answer: `${code} ${enhanced} ${text}` }, 'mail was refused')
    callback(new RefusalError(refusal))
    if (refusal.code === 421) close(session)
  }
  return {
    onConnect: (session: SMTPServerSession, callback: Answer) => answer(session, callback, sessions.onConnect(session)),
    onMailFrom: async (from: { address: string }, session: SMTPServerSession, callback: Answer) =>
      answer(session, callback, await sessions.onSender(session, from.address)),
    onRcptTo: async (to: { address: string }, session: SMTPServerSession, callback: Answer) =>
      answer(session, callback, await sessions.onRecipient(session, to)),
    onData: async (stream: Parameters<Sessions['onMessage']>[1], session: SMTPServerSession, callback: Answer) => {
      const refusal = await sessions.onMessage(session, stream)
      if (!refusal) {
        countAnswer(250)
        log.debug({ session_id: session.id, peer: session.remoteAddress }, 'mail was accepted')
      }
      answer(session, callback, refusal)
      if (sessions.isStopping()) close(session)
    },
    onClose: (session: SMTPServerSession) => sessions.onClose(session),
  }
}

const connectionOf = (server: SMTPServer, { id }: { id: string }) => [...server.connections].find((connection) => connection.id === id)

function endSlow(server: SMTPServer, sessions: Sessions, maxConnections: number): void {
  const isCrowded = server.connections.size > maxConnections / 2
  for (const connection of server.connections) if (sessions.isOverTime(connection.id, isCrowded)) say(connection, refusals.took_too_long)
}

function say(
  connection: { send(code: number, text: string, context: false): void },
  refusal: (typeof refusals)['stopping' | 'took_too_long'],
) {
  countAnswer(refusal.code)
  // smtp-server hangs up after a 421.
  connection.send(refusal.code, `${refusal.enhanced} ${refusal.text}`, false)
}

/** `localhost` is two addresses on most machines, and both are wanted. */
async function listenOnAll(server: SMTPServer, { host, port }: { host: string; port: number }): Promise<Server[]> {
  const [first = host, ...others] = (await lookup(host, { all: true }).catch(() => [])).map(({ address }) => address)
  const listening = once(server.server, 'listening')
  server.listen(port, first)
  await listening
  const further: Server[] = []
  for (const address of port === 0 ? [] : others) {
    const listener = createServer((socket) => server.server.emit('connection', socket))
    listener.listen(port, address)
    // The system may name an address that this machine does not have, such as ::1 without IPv6; the first one will do.
    if (await once(listener, 'listening').catch(() => null)) further.push(listener)
  }
  return further
}

async function closeAll(server: SMTPServer, further: Server[], sessions: Sessions): Promise<void> {
  sessions.stop()
  for (const listener of further) listener.close()
  const closed = new Promise<void>((resolve) => server.close(resolve))
  for (const connection of server.connections) if (sessions.isTalking(connection.id)) say(connection, refusals.stopping)
  await closed
}

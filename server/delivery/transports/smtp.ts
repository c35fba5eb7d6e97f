import { isAscii } from 'node:buffer'
import { setTimeout as sleep } from 'node:timers/promises'
import { createTransport, type SMTPPoolOptions } from 'nodemailer'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { parseRelayUrl, type Relay } from './relay-url.ts'
import { deferred, outcomeOfError, outcomeOfReply } from './smtp-outcome.ts'
import type { Envelope, Outcome, Transport } from './transport.ts'

export interface SmtpLimits {
  connect_ms: number
  greeting_ms: number
  /** Silence in the middle of a session. */
  socket_ms: number
  max_connections: number
  /** How many messages go over one connection before it is replaced. */
  max_messages: number
}

export const defaultSmtpLimits: SmtpLimits = {
  connect_ms: 10_000,
  greeting_ms: 10_000,
  socket_ms: 60_000,
  max_connections: 5,
  max_messages: 500,
}

/** Sends through a relay, over connections that stay open between messages. */
export const createSmtpTransport = (outbound: string, limits: Partial<SmtpLimits> = {}): Transport =>
  new SmtpTransport(parseRelayUrl(outbound), { ...defaultSmtpLimits, ...limits })

class SmtpTransport implements Transport {
  readonly name = 'smtp'
  readonly #relay: Relay
  readonly #limits: SmtpLimits
  readonly #options: SMTPPoolOptions & { pool: true }
  readonly #pool: ReturnType<typeof openPool>
  readonly #inFlight = new Set<Promise<Outcome>>()
  #isClosed = false
  #isKnownToTakeUnicode = false

  constructor(relay: Relay, limits: SmtpLimits) {
    this.#relay = relay
    this.#limits = limits
    this.#options = poolOptions(relay, limits)
    this.#pool = openPool(this.#options)
  }

  async send(envelope: Envelope, message: Buffer): Promise<Outcome> {
    const sending = this.#deliver(envelope, message).catch(outcomeOfError)
    this.#inFlight.add(sending)
    const outcome = await sending
    this.#inFlight.delete(sending)
    return outcome
  }

  async verify(): Promise<void> {
    try {
      await this.#pool.verify()
    } catch (error) {
      const { reason, detail } = outcomeOfError(error)
      throw new Error(`${reason}. (${this.#relay.host}:${this.#relay.port}: ${detail})`, { cause: error })
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#pool.close()
    // A message whose final dot is unanswered may be with the relay already: cutting it off would send it twice. Only a relay
    // that trickles, which the socket timeout never notices, is cut off in the end.
    const abort = new AbortController()
    const patience = sleep(this.#limits.socket_ms, undefined, { signal: abort.signal }).then(
      () => this.#pool.close({ force: true }),
      () => {},
    )
    await Promise.all(this.#inFlight)
    abort.abort()
    await patience
  }

  async #deliver(envelope: Envelope, message: Buffer): Promise<Outcome> {
    if (this.#isClosed) return deferred('The sender is shutting down', 'send after close')
    if (!isSafePath(envelope.from)) return deferred('The sender address is not valid', `MAIL FROM ${JSON.stringify(envelope.from)}`)
    if (!isSafePath(envelope.to) || !envelope.to.includes('@')) {
      return {
        kind: 'bounced',
        smtp_code: 553,
        enhanced_code: '5.1.3',
        reason: 'The address is not valid',
        detail: `RCPT TO ${JSON.stringify(envelope.to)}`,
      }
    }
    if ((hasUnicodeLocalPart(envelope.from) || hasUnicodeLocalPart(envelope.to)) && !(await this.#takesUnicode())) {
      const reason = 'The relay cannot take addresses outside ASCII'
      return { kind: 'bounced', smtp_code: 553, enhanced_code: '5.6.7', reason, detail: 'EHLO lists no SMTPUTF8 (RFC 6531)' }
    }
    const info = await this.#pool.sendMail({
      raw: message,
      // As objects, so that nodemailer does not look for several addresses in one.
      envelope: {
        from: envelope.from === '' ? false : { name: '', address: envelope.from },
        to: { name: '', address: envelope.to },
        size: message.length,
        use8BitMime: !isAscii(message),
      },
    })
    return outcomeOfReply(info.response)
  }

  /**
   * nodemailer sends a Unicode address even to a relay that never offered SMTPUTF8, so such an address asks first, over a
   * connection of its own. A yes is remembered; a no is asked again, because these addresses are rare and relays get upgraded.
   */
  async #takesUnicode(): Promise<boolean> {
    if (this.#isKnownToTakeUnicode) return true
    const connection = new SMTPConnection(this.#options)
    try {
      await new Promise<void>((resolve, reject) => {
        connection.on('error', reject)
        connection.connect((error) => (error ? reject(error) : resolve()))
      })
      // Not in the types of nodemailer (10.4), which has no public way to read them; the test fails when the name changes.
      const extensions: unknown = Reflect.get(connection, '_supportedExtensions')
      this.#isKnownToTakeUnicode = Array.isArray(extensions) && extensions.includes('SMTPUTF8')
      return this.#isKnownToTakeUnicode
    } finally {
      connection.quit()
    }
  }
}

const openPool = (options: SMTPPoolOptions & { pool: true }) => createTransport(options)

function poolOptions(relay: Relay, limits: SmtpLimits): SMTPPoolOptions & { pool: true } {
  return {
    pool: true,
    host: relay.host,
    port: relay.port,
    secure: relay.is_implicit_tls,
    ...(relay.login ? { auth: { user: relay.login.user, pass: relay.login.password } } : {}),
    // Without this a relay that offers no AUTH would be used without a login, and its "550 relaying denied" taken for a bounce.
    forceAuth: relay.login !== null,
    // smtps:// verifies the certificate. smtp:// encrypts when it can (RFC 7435): whoever can forge a certificate can also hide
    // the offer of STARTTLS, so insisting would protect nobody and turn away the many relays with a certificate of their own
    // making. A password is never sent after STARTTLS was offered and then refused.
    ...(relay.is_implicit_tls ? {} : { opportunisticTLS: relay.login === null, tls: { rejectUnauthorized: false } }),
    connectionTimeout: limits.connect_ms,
    greetingTimeout: limits.greeting_ms,
    socketTimeout: limits.socket_ms,
    maxConnections: limits.max_connections,
    maxMessages: limits.max_messages,
    // Once, and only before a byte of the message left: a relay that hangs up an idle connection just as it is used again is
    // no reason to defer. A message whose transfer began is never repeated here.
    maxRequeues: 1,
  }
}

/** No character that could end the path or the command line. Addresses are parsed before, so this only guards the wire. */
const isSafePath = (address: string) => !/[\0-\x20\x7f<>]/.test(address)

const hasUnicodeLocalPart = (address: string) => /[^\0-\x7f]/.test(address.slice(0, address.lastIndexOf('@')))

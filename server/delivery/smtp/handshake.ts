import type { Endpoint, SmtpLimits } from './endpoint.ts'
import type { Reply } from './reply.ts'
import { logIn } from './sasl.ts'
import { SmtpError } from './smtp-error.ts'
import { openWire, type Wire } from './wire.ts'

/** What the server offers (RFC 5321 section 2.2). */
export interface Extensions {
  pipelining: boolean
  eight_bit_mime: boolean
  smtputf8: boolean
  starttls: boolean
  /** The largest message in bytes (RFC 1870); null when it does not say. */
  size: number | null
  auth: string[]
}

export interface Session {
  wire: Wire
  extensions: Extensions
}

/**
 * From nothing to a session that takes mail: connect, greeting, EHLO (HELO for those who do not know it), STARTTLS and EHLO again,
 * AUTH. One question at a time, and none after `signal`. Throws SmtpError.
 */
export async function openSession(endpoint: Endpoint, limits: SmtpLimits, signal: AbortSignal): Promise<Session> {
  const wire = await openWire(endpoint, limits, signal)
  const cutOff = () => wire.fail(new SmtpError('shutdown', 'cut off while greeting'))
  signal.addEventListener('abort', cutOff)
  const late = setTimeout(() => wire.fail(new SmtpError('slow_start', 'no session in time')), limits.message_ms)
  const talk = new Conversation(wire)
  try {
    wire.patience = limits.greeting_ms
    const greeting = await talk.hear('slow_start')
    if (greeting.code !== 220) throw turnedAway('the greeting', greeting)
    wire.patience = limits.socket_ms
    let extensions = await sayHello(talk, endpoint)
    if (await startTls(talk, endpoint, extensions, limits)) {
      wire.patience = limits.socket_ms
      extensions = await sayHello(talk, endpoint)
    }
    if (endpoint.login) await logIn((line) => talk.ask(line), endpoint, endpoint.login, extensions.auth)
    return { wire, extensions }
  } catch (error) {
    const failure = error instanceof SmtpError ? error : new SmtpError('broken', String(error))
    wire.fail(failure)
    throw failure
  } finally {
    clearTimeout(late)
    signal.removeEventListener('abort', cutOff)
  }
}

async function sayHello(talk: Conversation, { name }: Endpoint): Promise<Extensions> {
  const reply = await talk.ask(`EHLO ${name}`)
  if (reply.code === 250) return extensionsIn(reply)
  if (reply.code < 500) throw turnedAway('EHLO', reply)
  const plain = await talk.ask(`HELO ${name}`)
  if (plain.code !== 250) throw turnedAway('HELO', plain)
  return extensionsIn({ code: 250, text: '' })
}

const turnedAway = (when: string, reply: Reply) => new SmtpError('turned_away', `${when}: ${reply.text}`, reply)

/** Answers whether the wire is encrypted now. */
async function startTls(talk: Conversation, endpoint: Endpoint, { starttls }: Extensions, limits: SmtpLimits): Promise<boolean> {
  if (endpoint.tls === 'implicit' || endpoint.tls === 'never') return false
  if (!starttls) {
    if (endpoint.tls === 'required') throw new SmtpError('tls', 'EHLO lists no STARTTLS')
    return false
  }
  const reply = await talk.ask('STARTTLS')
  if (reply.code === 220) {
    await talk.wire.encrypt(endpoint, limits.greeting_ms)
    return true
  }
  // A password is never sent in clear text once STARTTLS was offered and then refused.
  if (endpoint.tls === 'required' || endpoint.login) throw new SmtpError('tls', `STARTTLS: ${reply.text}`, reply)
  return false
}

function extensionsIn({ text }: Reply): Extensions {
  const lines = text.split('\n').slice(1)
  const words = lines.map((line) => line.slice(4).toUpperCase().split(/[ =]+/))
  const has = (keyword: string) => words.some(([first]) => first === keyword)
  const size = Number(words.find(([first]) => first === 'SIZE')?.[1] ?? 0)
  return {
    pipelining: has('PIPELINING'),
    eight_bit_mime: has('8BITMIME'),
    smtputf8: has('SMTPUTF8'),
    starttls: has('STARTTLS'),
    // "SIZE 0" means no fixed limit.
    size: Number.isSafeInteger(size) && size > 0 ? size : null,
    auth: words.filter(([first]) => first === 'AUTH').flatMap(([, ...mechanisms]) => mechanisms),
  }
}

/** Question and answer, one after the other, for as long as no messages flow. */
class Conversation {
  readonly wire: Wire
  #heard: Reply[] = []
  #failure: SmtpError | null = null
  #wake: (() => void) | null = null
  #troubleOfSilence: 'slow_start' | 'silent' = 'silent'

  constructor(wire: Wire) {
    this.wire = wire
    wire.listener = {
      onReply: (reply) => {
        this.#heard.push(reply)
        this.#wake?.()
      },
      onSilence: () => wire.fail(new SmtpError(this.#troubleOfSilence, 'no answer in time')),
      onFailure: (error) => {
        this.#failure = error
        this.#wake?.()
      },
    }
  }

  ask(line: string): Promise<Reply> {
    // Nothing may have been said that was not asked for: it would be taken for the answer.
    if (this.#heard.length > 0) return Promise.reject(new SmtpError('not_smtp', `unasked: ${this.#heard[0]?.text}`))
    this.wire.write(`${line}\r\n`)
    return this.hear('silent')
  }

  async hear(troubleOfSilence: 'slow_start' | 'silent'): Promise<Reply> {
    this.#troubleOfSilence = troubleOfSilence
    while (this.#heard.length === 0) {
      if (this.#failure) throw this.#failure
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return this.#heard.shift() as Reply
  }
}

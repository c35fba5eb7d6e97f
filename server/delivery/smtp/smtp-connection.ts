import type { SmtpLimits } from './endpoint.ts'
import type { Extensions } from './handshake.ts'
import type { EnvelopeCommand, SmtpJob } from './job.ts'
import { finalDot, toWire } from './message-data.ts'
import type { Reply } from './reply.ts'
import { SmtpError } from './smtp-error.ts'
import type { Wire } from './wire.ts'

/**
 * One session that takes messages, after the handshake. A message has its turn here:
 *
 *   envelope → body → settled
 *
 * envelope: MAIL, RCPT and DATA are on the wire, in one flight when the server pipelines (RFC 2920), else one after the other. A no
 * to any of them is what the message is told, the first one. When the answer to DATA is 354 all the same, a lone dot ends what the
 * server thinks is a message; the body never follows a refusal, where it could be read as commands. Otherwise RSET clears the way
 * for the next.
 * body: after 354, the message and its final dot leave, and with them, in the same flight, the envelope of the next message: DATA is
 * the last command of a group and the message the first of the next (RFC 2920 section 3.1). So there are at most two turns: one
 * whose dot is unanswered, and one whose envelope is.
 *
 * Answers come in the order of the commands; `#expected` says what the next one is about. An answer that nobody waits for, one that
 * cannot be, or silence ends the session: whose answer it was fails, whose dot is unanswered is uncertain, and who has not begun
 * the transfer goes back to the pool. 421 ends it too (RFC 5321 section 3.8), with the difference that it is an answer.
 */
export class SmtpConnection {
  readonly #wire: Wire
  readonly #extensions: Extensions
  readonly #source: JobSource
  readonly #limits: SmtpLimits
  readonly #turns: Turn[] = []
  readonly #expected: Expected[] = []
  #begun = 0
  #settled = 0
  #needsReset = false
  #isLeaving = false
  #isOver = false
  readonly #watch: NodeJS.Timeout

  constructor(wire: Wire, extensions: Extensions, source: JobSource, limits: SmtpLimits) {
    this.#wire = wire
    this.#extensions = extensions
    this.#source = source
    this.#limits = limits
    wire.patience = limits.idle_ms
    wire.listener = {
      onReply: (reply, hasMore) => this.#hear(reply, hasMore),
      onSilence: () => this.#hearNothing(),
      onFailure: (error) => this.#end(error),
    }
    // One for the session: messages come by the thousand.
    this.#watch = setInterval(() => this.#endIfLate(), Math.ceil(limits.message_ms / 10)).unref()
  }

  get isIdle(): boolean {
    return this.#turns.length === 0 && this.#expected.length === 0
  }

  /** Whether another message can begin here now. */
  get isOpen(): boolean {
    if (this.#isLeaving || this.#isOver || this.#begun >= this.#limits.max_messages) return false
    const [first, second] = this.#turns
    if (!first) return this.#expected.length === 0
    return first.isBodySent && !second && this.#extensions.pipelining
  }

  /** There is work: takes some if it can. */
  wake() {
    if (this.isIdle) return this.#rest()
    const envelope = this.isOpen ? this.#takeNext() : ''
    if (envelope !== '') this.#wire.write(envelope)
  }

  /** Ends the session once what was begun is settled. */
  leave() {
    this.#isLeaving = true
    this.#rest()
  }

  /** Ends it now, whatever is under way. */
  abort(): void {
    this.#wire.fail(new SmtpError('shutdown', `cut off while waiting for ${this.#awaited}`))
  }

  get #awaited(): string {
    return this.#expected[0]?.stage ?? 'nothing'
  }

  /** The commands that begin the next message, '' when there is none. */
  #takeNext(): string {
    for (;;) {
      const job = this.#source.take()
      if (!job) return ''
      const isTooLarge = this.#extensions.size !== null && job.size > this.#extensions.size
      // RFC 1870 section 6.1: the server told its limit in advance, so the answer it would give is known.
      if (isTooLarge) job.settle({ kind: 'unfit', why: 'size', detail: `SIZE ${this.#extensions.size}, the message has ${job.size}` })
      else if (job.needsUnicode && !this.#extensions.smtputf8)
        job.settle({ kind: 'unfit', why: 'smtputf8', detail: 'EHLO lists no SMTPUTF8 (RFC 6531)' })
      else return this.#envelope({ job, beganAt: performance.now(), isBodySent: false, refusal: null })
    }
  }

  #envelope(turn: Turn): string {
    this.#begun++
    this.#turns.push(turn)
    this.#wire.patience = this.#turns[0]?.isBodySent ? this.#limits.dot_ms : this.#limits.socket_ms
    let reset = ''
    if (this.#needsReset) {
      reset = 'RSET\r\n'
      this.#needsReset = false
      this.#expected.push({ stage: 'RSET', turn: null })
    }
    this.#expected.push({ stage: 'MAIL FROM', turn })
    const mail = `${reset}MAIL FROM:<${turn.job.from}>${this.#parametersOf(turn.job)}\r\n`
    if (!this.#extensions.pipelining) return mail
    this.#expected.push({ stage: 'RCPT TO', turn }, { stage: 'DATA', turn })
    return `${mail}RCPT TO:<${turn.job.to}>\r\nDATA\r\n`
  }

  #parametersOf(job: SmtpJob): string {
    const { smtputf8, eight_bit_mime, size } = this.#extensions
    const unicode = job.needsUnicode && smtputf8 ? ' SMTPUTF8' : ''
    const body = job.is8Bit && eight_bit_mime ? ' BODY=8BITMIME' : ''
    return `${unicode}${body}${size === null ? '' : ` SIZE=${job.size}`}`
  }

  #hearNothing() {
    if (this.isIdle && !this.#isOver) return this.leave()
    this.#wire.fail(new SmtpError('silent', `no answer to ${this.#awaited}`))
  }

  #endIfLate() {
    const { message_ms } = this.#limits
    const [first] = this.#turns
    if (!first || performance.now() - first.beganAt < message_ms) return
    this.#wire.fail(new SmtpError('silent', `not through after ${Math.round(message_ms / 1000)} s, while waiting for ${this.#awaited}`))
  }

  #hear(reply: Reply, hasMore: boolean) {
    const expected = this.#expected.shift()
    // Said while nothing was asked, mostly 421 before an idle connection is closed.
    if (!expected) return this.#wire.fail(new SmtpError('closed', `unasked: ${reply.text}`))
    const { stage, turn } = expected
    if (reply.code === 421) this.#hearGoodbye(expected, reply)
    else if (!turn) this.#rest()
    else if (stage === 'dot') this.#hearEnd(turn, reply)
    else if (stage === 'DATA') this.#hearData(turn, reply, hasMore)
    else this.#hearEnvelope(turn, stage as 'MAIL FROM' | 'RCPT TO', reply)
  }

  #hearEnvelope(turn: Turn, command: 'MAIL FROM' | 'RCPT TO', reply: Reply) {
    if (reply.code < 400 && reply.code >= 300) return this.#loseTrack(turn, command, reply)
    if (reply.code >= 400) {
      turn.refusal ??= { command, reply }
      this.#needsReset ||= command === 'RCPT TO'
    }
    if (this.#extensions.pipelining) return
    if (turn.refusal) return this.#settleRefused(turn)
    const next = command === 'MAIL FROM' ? 'RCPT TO' : 'DATA'
    this.#expected.push({ stage: next, turn })
    this.#wire.write(next === 'DATA' ? 'DATA\r\n' : `RCPT TO:<${turn.job.to}>\r\n`)
  }

  #hearData(turn: Turn, reply: Reply, hasMore: boolean) {
    const isGo = reply.code === 354
    // Whoever answers to a message before it was sent answers to something else.
    if (reply.code < 400 && (!isGo || hasMore)) return this.#loseTrack(turn, 'DATA', reply)
    if (isGo && !turn.refusal) return this.#sendBody(turn)
    if (isGo) {
      this.#needsReset = false
      this.#expected.push({ stage: 'lone dot', turn: null })
      this.#wire.write('.\r\n')
    } else {
      this.#needsReset ||= turn.refusal === null
      turn.refusal ??= { command: 'DATA', reply }
    }
    this.#settleRefused(turn)
  }

  #sendBody(turn: Turn) {
    const parts = toWire(turn.job.parts, turn.job.isDotSafe)
    turn.isBodySent = true
    this.#expected.push({ stage: 'dot', turn })
    this.#wire.patience = this.#limits.dot_ms
    this.#wire.writeAll(parts, finalDot(parts) + (this.isOpen ? this.#takeNext() : ''))
  }

  #hearEnd(turn: Turn, reply: Reply) {
    if (reply.code >= 300 && reply.code < 400) return this.#loseTrack(turn, 'dot', reply)
    // A no before the last byte left: some wait for the dot and say it again, which would be taken for the answer to the next.
    const isWritten = this.#wire.isFlushed
    const isInTheMiddle = reply.code >= 400 && !isWritten
    this.#drop(turn)
    turn.job.settle(reply.code < 300 ? { kind: 'accepted', reply, isWritten } : { kind: 'refused', command: 'DATA', reply })
    if (isInTheMiddle) return this.#wire.fail(new SmtpError('closed', 'refused in the middle of a message'))
    this.#rest()
  }

  #settleRefused(turn: Turn) {
    this.#drop(turn)
    if (turn.refusal) turn.job.settle({ kind: 'refused', ...turn.refusal })
    this.#rest()
  }

  #drop(turn: Turn) {
    this.#turns.splice(this.#turns.indexOf(turn), 1)
    this.#settled++
  }

  /** The server closes. In a session that worked, that is no answer to the message that happened to come next. */
  #hearGoodbye({ stage, turn }: Expected, reply: Reply) {
    if (turn && (turn.isBodySent || this.#settled === 0 || turn.refusal)) {
      const command = stage === 'MAIL FROM' || stage === 'RCPT TO' ? stage : 'DATA'
      turn.refusal ??= { command, reply }
      this.#drop(turn)
      turn.job.settle({ kind: 'refused', ...turn.refusal })
    }
    this.#wire.fail(new SmtpError('closed', reply.text))
  }

  #loseTrack(turn: Turn, stage: Stage, reply: Reply) {
    this.#expected.unshift({ stage, turn })
    this.#wire.fail(new SmtpError('not_smtp', `${stage}: ${reply.text}`))
  }

  /** Between two things: takes the next message, waits for one, or goes. */
  #rest() {
    if (this.#isOver || !this.isIdle) return
    if (this.isOpen) {
      const envelope = this.#takeNext()
      if (envelope !== '') return this.#wire.write(envelope)
      this.#wire.patience = this.#limits.idle_ms
      return this.#source.onIdle(this)
    }
    this.#isOver = true
    this.#wire.end('QUIT\r\n')
  }

  #end(error: SmtpError) {
    this.#isOver = true
    clearInterval(this.#watch)
    const asked = this.#expected[0]?.turn ?? null
    for (const turn of this.#turns.splice(0)) {
      const { job, refusal, isBodySent } = turn
      const isItsFault = turn === asked && error.trouble !== 'closed' && error.trouble !== 'broken'
      if (refusal) job.settle({ kind: 'refused', ...refusal })
      else if (isBodySent || isItsFault || ++job.losses > mostLosses) job.settle({ kind: 'failed', error, isUncertain: isBodySent })
      else this.#source.giveBack(job)
    }
    this.#source.onEnd(this, error)
  }
}

/** A server that hangs up just as a connection is used again is no reason to put a message off; one that always does is. */
const mostLosses = 2

/** Where the messages come from: the pool. */
export interface JobSource {
  take(): SmtpJob | null
  /** Of a connection that was lost before the transfer of this message began. */
  giveBack(job: SmtpJob): void
  onIdle(connection: SmtpConnection): void
  onEnd(connection: SmtpConnection, error: SmtpError): void
}

interface Turn {
  job: SmtpJob
  beganAt: number
  isBodySent: boolean
  refusal: { command: EnvelopeCommand; reply: Reply } | null
}

type Stage = EnvelopeCommand | 'dot' | 'RSET' | 'lone dot'

interface Expected {
  stage: Stage
  turn: Turn | null
}

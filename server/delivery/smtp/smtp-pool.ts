import { setTimeout as sleep } from 'node:timers/promises'
import { type Endpoint, type SmtpLimits, withDefaults } from './endpoint.ts'
import { FairQueue } from './fair-queue.ts'
import { openSession } from './handshake.ts'
import { createJob, type JobOptions, type SmtpJob, type SmtpResult } from './job.ts'
import { SmtpConnection } from './smtp-connection.ts'
import { SmtpError } from './smtp-error.ts'
import { TokenBucket } from './token-bucket.ts'

export interface PoolOptions extends Partial<SmtpLimits> {
  /** Looks, after a failure, whether the host is back even when nothing waits for it. */
  probes?: boolean
}

/** A message for a pool. */
export interface Outgoing extends JobOptions {
  /** Called the moment the yes to the final dot is read. What it throws, `send` throws. */
  onAccepted?: (() => void) | undefined
  /** Called after that if the system has taken every octet of the message: from then on they may be written over. */
  onWritten?: (() => void) | undefined
}

/**
 * The connections to one host. Messages wait in one queue; connections come for them, so a slow one takes fewer. A connection takes
 * its next message while the last is on the way: it pays to have two or three messages under way for each connection.
 *
 * A host that cannot be reached while no connection stands fails what waits, and rests: 250 ms, then twice as long each time. What
 * comes in the meantime waits for the next try. When other connections stand, they go on, and only new ones rest: some hosts allow
 * few.
 */
export class SmtpPool {
  readonly #endpoint: Endpoint
  readonly #limits: SmtpLimits
  readonly #probes: boolean
  readonly #queue = new FairQueue<SmtpJob>(({ lane }) => lane)
  readonly #connections = new Set<SmtpConnection>()
  readonly #idle = new Set<SmtpConnection>()
  readonly #underWay = new Set<Promise<unknown>>()
  readonly #bucket: TokenBucket | null
  #opening = 0
  /** Given to it and not settled. */
  #held = 0
  #failures = 0
  /** It let us wait in vain, and has answered to no message since. */
  #mistrust: SmtpError | null = null
  #rest: { error: SmtpError; endsAt: number; timer: NodeJS.Timeout } | null = null
  #rateTimer: NodeJS.Timeout | null = null
  readonly #closing = new AbortController()
  #onAllEnded: (() => void) | null = null

  constructor(endpoint: Endpoint, { probes = false, ...limits }: PoolOptions = {}) {
    this.#endpoint = endpoint
    this.#limits = withDefaults(limits)
    this.#probes = probes
    this.#bucket = this.#limits.rate === null ? null : new TokenBucket(this.#limits.rate, performance.now())
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  /** Why the host is left alone just now, and until when (as performance.now() counts). */
  get trouble(): { error: SmtpError; endsAt: number } | null {
    return this.#rest
  }

  /** Why there is no hope just now for another message: one is on trial, and nobody knows how that ends. */
  get doubt(): SmtpError | null {
    return this.#held > 0 ? this.#mistrust : null
  }

  /** Nothing is open, waits or rests: whoever has many pools may forget this one. */
  get isUnused(): boolean {
    return this.#connections.size === 0 && this.#opening === 0 && this.#queue.length === 0 && this.#rest === null
  }

  /** Whether another message would have its turn soon. It is taken in any case. */
  get hasRoom(): boolean {
    return this.#held < (this.#mistrust ? 1 : heldPerConnection * this.#limits.max_connections)
  }

  send({ onAccepted, onWritten, ...options }: Outgoing): Promise<SmtpResult> {
    const { promise, resolve, reject } = Promise.withResolvers<SmtpResult>()
    const job = createJob(options, (result) => {
      this.#held--
      if (result.kind === 'accepted' || result.kind === 'refused') this.#mistrust = null
      try {
        if (result.kind === 'accepted') {
          onAccepted?.()
          if (result.isWritten) onWritten?.()
        }
        resolve(result)
      } catch (error) {
        reject(error)
      }
    })
    if (this.#isClosed) return Promise.resolve({ kind: 'failed', error: shutDown(), isUncertain: false })
    this.#held++
    this.#queue.add(job)
    this.#dispatch()
    return promise
  }

  /** Greets the host and logs in, over a connection of its own. Throws SmtpError. */
  async verify(): Promise<void> {
    const { wire } = await openSession(this.#endpoint, this.#limits, this.#closing.signal)
    const ended = new Promise<void>((resolve) => {
      wire.listener = { onReply() {}, onSilence: () => wire.fail(new SmtpError('closed', 'no answer to QUIT')), onFailure: () => resolve() }
    })
    wire.end('QUIT\r\n')
    await ended
  }

  /**
   * What has not begun is given up. What has is waited for: cutting off a message whose final dot is unanswered would send it twice.
   * Only a host that is not done in time is cut off in the end.
   */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#endRest()
    if (this.#rateTimer) clearTimeout(this.#rateTimer)
    this.#failWaiting(shutDown())
    const ended = new Promise<void>((resolve) => {
      this.#onAllEnded = resolve
    })
    for (const connection of this.#connections) connection.leave()
    this.#tellIfEnded()
    const abort = new AbortController()
    const patience = sleep(Math.min(this.#limits.socket_ms, 60_000), undefined, { signal: abort.signal }).then(
      () => {
        for (const connection of this.#connections) connection.abort()
      },
      () => {},
    )
    await ended
    abort.abort()
    await patience
    await Promise.allSettled(this.#underWay)
  }

  /** Gives what waits to whoever can take it, and opens more connections when that is not enough. */
  #dispatch(): void {
    for (const connection of [...this.#idle]) {
      if (this.#queue.length === 0) return
      this.#idle.delete(connection)
      connection.wake()
    }
    while (this.#canOpen()) this.#open()
    if (this.#opening > 0) return
    for (const connection of this.#connections) {
      if (this.#queue.length === 0) return
      connection.wake()
    }
  }

  #canOpen(): boolean {
    const isWanted = this.#opening < this.#queue.length && this.#connections.size + this.#opening < this.#limits.max_connections
    return isWanted && this.#rest === null && !this.#isClosed && this.#idle.size === 0
  }

  #open(): void {
    this.#opening++
    const began = performance.now()
    const opening = openSession(this.#endpoint, this.#limits, this.#closing.signal)
      .then(({ wire, extensions }) => {
        this.#opening--
        this.#failures = 0
        this.#endRest()
        const connection = new SmtpConnection(wire, extensions, this.#source, this.#limits)
        this.#connections.add(connection)
        if (this.#isClosed) connection.leave()
        else connection.wake()
        this.#dispatch()
      })
      .catch((error: SmtpError) => {
        this.#opening--
        this.#onUnreachable(error, performance.now() - began)
      })
      .finally(() => this.#underWay.delete(opening))
    this.#underWay.add(opening)
  }

  #onUnreachable(error: SmtpError, tookMs: number): void {
    // Several may be opened at once: the first to fail speaks for them, and what came since waits for the next try.
    if (!this.#rest && !this.#isClosed) {
      if (this.#connections.size === 0) {
        this.#mistrust = error
        this.#failWaiting(error)
      }
      // Whoever lets us wait for long is left alone for as long.
      const restMs = Math.min(Math.max(250 * 2 ** this.#failures++, tookMs), this.#limits.longest_rest_ms)
      const timer = setTimeout(() => this.#wakeUp(), restMs)
      // A rest must not keep a program from ending.
      timer.unref()
      this.#rest = { error, endsAt: performance.now() + restMs, timer }
    }
    this.#tellIfEnded()
  }

  #wakeUp(): void {
    this.#endRest()
    if (this.#queue.length > 0) this.#dispatch()
    else if (this.#probes && this.#connections.size === 0 && this.#opening === 0) this.#open()
  }

  #endRest(): void {
    if (this.#rest) clearTimeout(this.#rest.timer)
    this.#rest = null
  }

  #failWaiting(error: SmtpError): void {
    for (const job of this.#queue.takeAll()) job.settle({ kind: 'failed', error, isUncertain: false })
  }

  #takeWanted(): SmtpJob | null {
    for (let job = this.#queue.take(); job; job = this.#queue.take()) {
      if (job.isStillWanted?.() !== false) return job
      job.settle({ kind: 'unwanted' })
    }
    return null
  }

  readonly #source = {
    take: (): SmtpJob | null => {
      if (this.#queue.length === 0) return null
      const waitMs = this.#bucket?.take(performance.now()) ?? 0
      if (waitMs === 0) return this.#takeWanted()
      this.#rateTimer ??= setTimeout(() => {
        this.#rateTimer = null
        this.#dispatch()
      }, waitMs)
      return null
    },
    giveBack: (job: SmtpJob): void => {
      if (this.#isClosed) job.settle({ kind: 'failed', error: shutDown(), isUncertain: false })
      else this.#queue.addFirst(job)
    },
    onIdle: (connection: SmtpConnection): void => {
      this.#idle.add(connection)
    },
    onEnd: (connection: SmtpConnection, error: SmtpError): void => {
      if (error.trouble === 'silent') this.#mistrust = error
      this.#connections.delete(connection)
      this.#idle.delete(connection)
      // While it rests nobody opens a connection, and the last one that stood is gone.
      if (this.#rest && this.#connections.size === 0) this.#failWaiting(this.#rest.error)
      this.#dispatch()
      this.#tellIfEnded()
    },
  }

  #tellIfEnded(): void {
    if (this.#connections.size === 0 && this.#opening === 0) this.#onAllEnded?.()
  }
}

/** One under way, one behind it in the same flight, one that waits. */
const heldPerConnection = 3

const shutDown = () => new SmtpError('shutdown', 'send after close')

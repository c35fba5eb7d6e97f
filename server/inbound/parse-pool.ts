import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Log } from '../base/log.ts'
import { PassingMap } from '../base/passing-map.ts'
import { packMail } from '../mail/inbound/packed-mail.ts'
import { parsedNothing } from '../mail/inbound/parsed-mail.ts'
import type { SpooledMessage } from './inbound-message.ts'
import {
  beatEveryMs,
  maxAtOnce,
  type ParseAnswer,
  type ParseTask,
  type ParseThreadData,
  type ReadAnswer,
  type ReadMail,
} from './parse-task.ts'
import { hasEnough, isHanging, type Reading, type Thread } from './pool-thread.ts'
import { createSenderCounts, type Senders, sendersOf } from './senders.ts'
import { undecided } from './undecided.ts'

/**
 * Reads and judges mail in threads: it is work for a processor, and nobody can say beforehand how much. A thread that does not turn for
 * ten seconds, or dies, is replaced. What it was at is read once more, each message alone in a thread; one that is the end of that
 * thread, too, is read by its head only, and if even that is too much it is kept unread. So one message costs itself and no other.
 */
export interface ParsePool {
  /** Never rejects but when the pool is stopped. */
  read(message: SpooledMessage, options?: { isHeadOnly: boolean }): Promise<ReadMail>
  /** Calls when there is nothing left to read, at once if there is nothing now. Only whoever asked last is called, once. */
  whenIdle(call: () => void): void
  stop(): Promise<void>
}

interface PoolOptions extends ParseThreadData {
  log: Log
  /** Of one's own: their addresses say nothing about senders. */
  isRelay(address: string): boolean
  threads?: number
  /** With those for suspects, and in place of ones that hang. */
  maxThreads?: number
  silentTicks?: number
  /** For tests, which have one that dies. */
  entry?: URL
}

const idleTicks = 300
/** Far above what 50 MB of text need. With room for young objects, less of them is alive when it is full: half of it cost a third more time. */
const resourceLimits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 }
const nobodyAsks = () => {}
const defaultEntry = new URL('../../bin/parse-thread.js', import.meta.url)

export const createParsePool = (options: PoolOptions): ParsePool => new Pool(options)

class Pool implements ParsePool {
  readonly #options: PoolOptions
  readonly #usualThreads: number
  readonly #maxThreads: number
  readonly #threads = new Set<Thread>()
  readonly #waiting: Reading[] = []
  readonly #watch: NodeJS.Timeout
  /** Of those that are being read. */
  readonly #senders = createSenderCounts()
  #numbers = 0
  #isStopped = false
  #onIdle = nobodyAsks

  constructor(options: PoolOptions) {
    this.#options = options
    // One for each core, though one core is busy with taking mail in: a signature takes a millisecond, and most mail has one.
    this.#usualThreads = options.threads ?? Math.min(4, availableParallelism())
    this.#maxThreads = options.maxThreads ?? options.threads ?? Math.max(2, this.#usualThreads)
    this.#watch = setInterval(() => this.#listen(), beatEveryMs)
    this.#watch.unref()
  }

  read(message: SpooledMessage, { isHeadOnly } = { isHeadOnly: false }): Promise<ReadMail> {
    return new Promise((resolve, reject) => {
      const senders = sendersOf(message, this.#options.isRelay)
      if (isHeadOnly) this.#waiting.unshift({ message, senders, tries: 2, resolve, reject })
      else this.#waiting.push({ message, senders, tries: 0, resolve, reject })
      this.#next()
    })
  }

  whenIdle(call: () => void): void {
    this.#onIdle = call
    this.#tellIfIdle()
  }

  #tellIfIdle(): void {
    if (this.#waiting.length > 0 || this.#threads.values().some(({ at }) => at.size > 0)) return
    const call = this.#onIdle
    this.#onIdle = nobodyAsks
    call()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#watch)
    const threads = [...this.#threads]
    this.#threads.clear()
    for (const reading of [...this.#waiting.splice(0), ...threads.flatMap(({ at }) => [...at.values()])])
      reading.reject(new Error('the reading of mail has been stopped'))
    await Promise.all(threads.map(({ worker }) => worker.terminate()))
  }

  #next(): void {
    while (!this.#isStopped && this.#waiting.length > 0) {
      const index = this.#indexOfNext()
      const [reading] = index < 0 ? [] : this.#waiting.splice(index, 1)
      if (!reading) {
        if (this.#mayStart()) this.#start()
        return
      }
      const thread = this.#threadFor(reading.tries) as Thread // just found
      this.#give(thread, reading)
      // Another thread is worth starting when all that there are have enough to do.
      if (this.#waiting.length > 0 && this.#mayStart() && this.#threads.values().every(hasEnough)) this.#start()
    }
  }

  /** What was found of a sender holds for the rest of theirs: hundreds may wait behind each other. */
  #indexOfNext(): number {
    let over: Senders | null = null
    return this.#waiting.findIndex((reading) => {
      const { tries, senders } = reading
      if (over && tries === 0 && senders.domain === over.domain && senders.peer === over.peer) return false
      if (this.#mayBegin(reading)) return this.#threadFor(tries) !== null
      over = senders
      return false
    })
  }

  /** One more than usual where all that there are seem to hang, or a suspect waits for one of its own. */
  #mayStart(): boolean {
    const isSuspectWaiting = (this.#waiting[0]?.tries ?? 0) > 0
    const most = isSuspectWaiting || this.#threads.values().every(isHanging) ? this.#maxThreads : this.#usualThreads
    return this.#threads.size < most
  }

  /** Nobody gets more than half of all places: whose name servers are slow could have all of them. A suspect has one kept for it. */
  #mayBegin = ({ tries, senders }: Reading): boolean => tries > 0 || this.#senders.isUnder(senders, (this.#usualThreads * maxAtOnce) / 2)

  /** The first that has not enough to do, or else the one with the least. A suspect gets one of its own, which is kept free for it, and nobody joins it there. */
  #threadFor(tries: number): Thread | null {
    const free = [...this.#threads].filter(
      (thread) => thread.isReady && thread.at.size < maxAtOnce && !isHanging(thread) && thread.suspects === 0,
    )
    if (tries > 0) return free.find(({ at }) => at.size === 0) ?? null
    const byLoad = () => free.toSorted((one, other) => one.at.size - other.at.size)
    // Suspects stand in front.
    if ((this.#waiting[0]?.tries ?? 0) > 0) return byLoad()[1] ?? null
    return free.find((thread) => !hasEnough(thread)) ?? byLoad()[0] ?? null
  }

  #give(thread: Thread, reading: Reading): void {
    const { raw, envelope_from, recipients, peer } = reading.message
    const number = this.#numbers++
    // A copy of its own, which then moves: a small buffer shares its memory with others, and the original is stored later.
    const copy = new Uint8Array(raw)
    const task: ParseTask = {
      number,
      raw: copy,
      envelope_from,
      recipients,
      address: this.#options.isRelay(peer.address) ? null : peer.address,
      helo: peer.name,
      problem: reading.tries < 2 ? null : tooMuch,
    }
    if (thread.at.size === 0) {
      thread.silent = 0
      thread.heardAt = performance.now()
    }
    thread.at.set(number, reading)
    thread.bytes += raw.length
    if (reading.tries > 0) thread.suspects++
    this.#senders.add(reading.senders)
    if (thread.outbox.push(task) === 1) queueMicrotask(() => this.#post(thread))
  }

  #post({ worker, outbox }: Thread): void {
    const tasks = outbox.splice(0)
    worker.ref()
    worker.postMessage(
      tasks,
      tasks.map(({ raw }) => raw.buffer),
    )
  }

  #start(): void {
    const { mailDomain, dnsServers, entry = defaultEntry } = this.#options
    const workerData: ParseThreadData = { mailDomain, dnsServers }
    const thread: Thread = {
      worker: new Worker(entry, { name: 'parser', workerData, resourceLimits }),
      isReady: false,
      at: new PassingMap(),
      bytes: 0,
      outbox: [],
      suspects: 0,
      heardAt: 0,
      silent: 0,
    }
    this.#threads.add(thread)
    let failure: string | null = null
    thread.worker.on('message', (answers: ParseAnswer[]) => this.#onAnswers(thread, answers))
    thread.worker.on('error', (error: Error) => {
      failure = error.message
    })
    thread.worker.on('exit', () => this.#replace(thread, failure ?? 'it ended'))
    // An idle thread keeps no process from ending.
    thread.worker.unref()
  }

  #onAnswers(thread: Thread, answers: ParseAnswer[]): void {
    if (thread.at.size > 0) thread.silent = 0
    thread.heardAt = performance.now()
    for (const answer of answers) {
      if (answer.kind === 'ready') thread.isReady = true
      else if (answer.kind !== 'beat') this.#settle(thread, answer)
    }
    this.#next()
    this.#tellIfIdle()
  }

  #settle(thread: Thread, answer: ReadAnswer): void {
    const reading = thread.at.get(answer.number)
    thread.at.delete(answer.number)
    if (thread.at.size === 0) thread.worker.unref()
    if (!reading) return
    thread.bytes -= reading.message.raw.length
    if (reading.tries > 0) thread.suspects--
    this.#senders.remove(reading.senders)
    if (answer.kind === 'read') {
      const { parsed, verdicts, backchannel } = answer
      reading.resolve({ parsed, verdicts, backchannel })
      return
    }
    this.#options.log.error({ inbound_id: reading.message.id, reason: answer.reason }, 'a message could not be read')
    // It would fail in the same way again; its head may not.
    this.#tryAgain({ ...reading, tries: Math.max(2, reading.tries + 1) })
  }

  /** By ticks of our own event loop: a machine that slept counts one for all of that time, and takes nobody for dead. */
  #listen(): void {
    for (const thread of this.#threads) {
      const isIdle = thread.at.size === 0
      if (++thread.silent <= (isIdle ? idleTicks : (this.#options.silentTicks ?? 10))) continue
      if (!isIdle) this.#replace(thread, 'it did not turn any more')
      // One stays, so that a code after a quiet night does not wait for a thread to start.
      else if (this.#threads.size === 1 || !this.#threads.delete(thread)) continue
      void thread.worker.terminate()
    }
    this.#next()
  }

  #replace(thread: Thread, reason: string): void {
    if (!this.#threads.delete(thread)) return
    const lost = [...thread.at.values()]
    // Its last answers may be on their way.
    thread.at.clear()
    this.#options.log.error({ reason, inbound_ids: lost.map(({ message }) => message.id) }, 'a thread that reads mail is replaced')
    for (const reading of lost) {
      this.#senders.remove(reading.senders)
      this.#tryAgain({ ...reading, tries: reading.tries + 1 })
    }
    // One that does not even start would be started again and again, as fast as can be.
    if (!thread.isReady) setTimeout(() => this.#next(), beatEveryMs).unref()
    else this.#next()
  }

  #tryAgain(reading: Reading): void {
    if (reading.tries > 2)
      reading.resolve({ parsed: packMail(parsedNothing(tooMuch)), verdicts: undecided('permerror'), backchannel: null })
    else this.#waiting.unshift(reading)
  }
}

const tooMuch = 'The message could not be read: it takes more time or memory than a message may'

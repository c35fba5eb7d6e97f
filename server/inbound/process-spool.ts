import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../base/clock.ts'
import { reasonOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { type Loop, startLoop } from '../base/loop.ts'
import { PassingMap } from '../base/passing-map.ts'
import { Rest } from '../base/rest.ts'
import { type Database, isConnectionLoss } from '../database/database.ts'
import { letGoOfBodies } from '../mail/inbound/packed-mail.ts'
import { lessAndLess } from './file-less.ts'
import { type InHand, maxInHand, maxSlow, slowSendersAmong } from './in-hand.ts'
import type { FiledInput, SpooledMessage } from './inbound-message.ts'
import { createMessageMemory } from './message-memory.ts'
import type { ParsePool } from './parse-pool.ts'
import { isPassing } from './passing-trouble.ts'
import { sendersOf } from './senders.ts'
import type { Taker } from './spool.ts'
import {
  type ClaimedMessage,
  claimMessages,
  isSuspect,
  isSuspectDue,
  noteProblem,
  type OwnClaim,
  putBack,
  putOff,
  renewClaims,
} from './spool-queries.ts'
import { troublesOf } from './spool-troubles.ts'

interface Needs {
  database: Database
  clock: Clock
  log: Log
  pool: ParsePool
  /** Of one's own: through them everybody's mail comes. */
  isRelay(address: string): boolean
  /** Writes a batch and takes it out of the spool in one transaction: see `FiledInput`. */
  file(batch: FiledInput[]): Promise<void>
}

/** No more in one go, so that what comes together from one sender leaves room for others. */
const maxClaimed = 250
const maxBatch = 100
/** From one batch to the next, when so many are in hand: short enough for a reader who waits for a code. */
const gatherMs = 50
const busyFrom = 8
/** Renewed while a message is in hand; after a crash, others take it up when this is over. */
const leaseMs = 30_000
const renewEveryMs = 10_000
/** How long a message rests after it could not be filed. From the fifth time on it is tried once a day, and operators are told. */
const restsMs = [10_000, 60_000, 10 * 60_000, 60 * 60_000]
const longRestMs = 24 * 60 * 60_000
export const maxAttempts = restsMs.length + 1
/** Whatever was read of it before had no end, not even when it was alone. */
const headOnlyFrom = 4

/**
 * Takes mail out of the spool, has it read and judged, and files it. Each message goes its own way up to the filing, so that one whose
 * sender's name server is slow holds up no other; what is ready by then is filed together. Killed at any line, the messages are still in
 * the spool, and whoever takes them up next files them once.
 */
export function startSpoolLoop(needs: Needs): Loop & { taker: Taker } {
  const work = new SpoolWork(needs)
  const loop = startLoop({ name: 'inbound', log: needs.log, on: 'inbound', everyMs: 500, step: () => work.takeMore() })
  const renewing = setInterval(() => void work.renew(), renewEveryMs)
  return {
    taker: work,
    async stop() {
      work.stop()
      await loop.stop()
      await work.settled()
      clearInterval(renewing)
    },
  }
}

class SpoolWork implements Taker {
  readonly #needs: Needs
  readonly #troubles: ReturnType<typeof troublesOf>
  readonly #owner = randomUUID()
  readonly #inHand = new PassingMap<string, InHand>()
  readonly #places = createMessageMemory(maxInHand.bytes)
  readonly #ready: FiledInput[] = []
  #bytes = 0
  /** How many of those in hand are to be there alone. */
  #suspects = 0
  #filing: Promise<void> | null = null
  #isStopped = false
  readonly #gathering = new Rest()
  /** The spool had nothing more when it was last looked through: what comes in now passes nobody. */
  #isCaughtUp = false
  #onRoom = () => {}

  constructor(needs: Needs) {
    this.#needs = needs
    this.#troubles = troublesOf(needs.log)
  }

  /** One step of the loop: claims as much as there is room for. True when there may be more. */
  async takeMore(): Promise<boolean> {
    await this.#room()
    if (this.#isStopped) return false
    const { database, clock } = this.#needs
    const now = clock.now()
    const claimed = await claimMessages(database, {
      owner: this.#owner,
      now,
      until: new Date(now.getTime() + leaseMs),
      rows: Math.min(maxInHand.messages - this.#inHand.size, maxClaimed),
      bytes: maxInHand.bytes - this.#bytes,
      isIdle: this.#inHand.size === 0,
      passOver: slowSendersAmong(this.#inHand).from(maxSlow.messages),
    })
    this.#isCaughtUp = claimed.length === 0 && !(await isSuspectDue(database, now))
    for (const message of claimed) if (!this.#inHand.has(message.id)) void this.#take(message)
    return claimed.length > 0
  }

  claim(messages: SpooledMessage[]): OwnClaim | null {
    const slow = slowSendersAmong(this.#inHand)
    const isFree = ({ peer, envelope_from }: SpooledMessage) =>
      slow.isUnder(sendersOf({ peer, envelope_from }, this.#needs.isRelay), maxSlow.messages)
    if (!this.#isCaughtUp || this.#isStopped || !this.#hasRoom() || !messages.every(isFree)) {
      this.#isCaughtUp = false
      return null
    }
    return { owner: this.#owner, until: new Date(this.#needs.clock.now().getTime() + leaseMs) }
  }

  take(messages: SpooledMessage[]): void {
    for (const message of messages) {
      // Its commit took longer than its claim lasts, and it was claimed once more meanwhile.
      if (this.#inHand.has(message.id)) continue
      const place = this.#places.take(message.raw.length, null)
      if (place) message.raw.copy(place)
      const raw = place?.subarray(0, message.raw.length) ?? Buffer.from(message.raw)
      void this.#take({ ...message, raw, attempts: 1 }, place)
    }
  }

  whenIdle(call: () => void): void {
    this.#needs.pool.whenIdle(call)
  }

  /** What waits for its turn stays claimed. */
  async renew(): Promise<void> {
    const { database, clock } = this.#needs
    const before = performance.now() - renewEveryMs / 2
    const ids = [...this.#inHand.values()].filter(({ since }) => since < before).map(({ message }) => message.id)
    if (ids.length === 0) return
    const until = new Date(clock.now().getTime() + leaseMs)
    await renewClaims(database, { owner: this.#owner, ids, until }).catch((error: unknown) =>
      // Others may take these up then, and whoever files second finds nothing to file.
      this.#troubles.renewing.met(error),
    )
  }

  stop(): void {
    this.#isStopped = true
    this.#onRoom()
    this.#gathering.end()
  }

  /** What is being filed is filed; the rest is given back for whoever starts next. */
  async settled(): Promise<void> {
    while (this.#filing) await this.#filing
    const ids = [...this.#inHand.keys()]
    this.#inHand.clear()
    if (ids.length > 0) await this.#putBack(ids)
  }

  /** Resolves when something more may be claimed. */
  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRoom = () => {
        if (this.#isStopped || this.#hasRoom()) resolve()
      }
      this.#onRoom()
    })
  }

  #hasRoom(): boolean {
    return this.#inHand.size < maxInHand.messages && this.#bytes < maxInHand.bytes && this.#suspects === 0
  }

  async #take(message: ClaimedMessage, place: Buffer | null = null): Promise<void> {
    this.#inHand.set(message.id, { message, place, senders: sendersOf(message, this.#needs.isRelay), since: performance.now() })
    this.#bytes += message.raw.length
    if (isSuspect(message)) this.#suspects++
    try {
      const read = await this.#needs.pool.read(message, { isHeadOnly: message.attempts >= headOnlyFrom })
      this.#ready.push({ message, ...read })
      if (this.#ready.length >= maxBatch) this.#gathering.end()
      if (!this.#isStopped) this.#filing ??= this.#fileReady()
    } catch (error) {
      // At a stop it is given back.
      if (this.#isStopped) return
      await this.#keep(message, error)
      this.#letGo([{ message }])
    }
  }

  #letGo(batch: (Pick<FiledInput, 'message'> & Partial<FiledInput>)[]): void {
    for (const { message, parsed } of batch) {
      const held = this.#inHand.get(message.id)
      if (!held) continue
      if (parsed) letGoOfBodies(parsed)
      this.#inHand.delete(message.id)
      this.#bytes -= held.message.raw.length
      if (isSuspect(held.message)) this.#suspects--
      if (held.place) this.#places.give(held.place, null)
    }
    this.#onRoom()
  }

  async #fileReady(): Promise<void> {
    while (this.#ready.length > 0 && !this.#isStopped) {
      const began = performance.now()
      await this.#fileAll(this.#ready.splice(0, maxBatch))
      await this.#gather(began)
    }
    this.#filing = null
  }

  /** While much is under way, the next batch waits for company: it costs twenty statements and two commits, however little is in it. */
  async #gather(began: number): Promise<void> {
    const restMs = gatherMs - (performance.now() - began)
    if (restMs <= 0 || this.#inHand.size < busyFrom || this.#ready.length >= maxBatch || this.#isStopped) return
    await this.#gathering.for(restMs)
  }

  /** One that is at fault is found by halving, and holds up none of the others. */
  async #fileAll(batch: FiledInput[]): Promise<void> {
    try {
      if (await this.#fileWhenPossible(batch)) this.#letGo(batch)
    } catch (error) {
      const [only] = batch
      if (only && batch.length === 1) return this.#fileLess(only, error)
      const half = Math.ceil(batch.length / 2)
      await this.#fileAll(batch.slice(0, half))
      await this.#fileAll(batch.slice(half))
    }
  }

  /** What was accepted reaches its mailbox: what cannot be filed as it is, twice, is filed with less of it. */
  async #fileLess(input: FiledInput, error: unknown): Promise<void> {
    if (this.#attemptsOf(input.message) >= 2) {
      for (const less of lessAndLess(input)) {
        const isFiled = await this.#fileWhenPossible([less]).catch(() => null) // the first reason is the one to tell
        if (isFiled)
          this.#needs.log.error({ inbound_id: input.message.id, reason: reasonOf(error) }, 'a message was filed without its text')
        if (isFiled) this.#letGo([input])
        if (isFiled !== null) return
      }
    }
    await this.#keep(input.message, error)
    this.#letGo([input])
  }

  /** Waits while nobody's mail can be filed. False when a stop came first: then it is all given back. */
  async #fileWhenPossible(batch: FiledInput[]): Promise<boolean> {
    for (let isNoted = false; ; isNoted = true) {
      try {
        await this.#needs.file(batch)
        this.#troubles.filing.over()
        return true
      } catch (error) {
        if (!isPassing(error)) throw error
        this.#troubles.filing.met(error)
        if (!isNoted && !isConnectionLoss(error)) await this.#noteProblem(batch, error)
        if (this.#isStopped) return false
        await sleep(1_000)
      }
    }
  }

  async #noteProblem(batch: FiledInput[], error: unknown): Promise<void> {
    const ids = batch.map(({ message }) => message.id)
    await noteProblem(this.#needs.database, { owner: this.#owner, ids, problem: reasonOf(error) }).catch((failure: unknown) =>
      this.#troubles.noting.met(failure),
    )
  }

  #attemptsOf = ({ id }: { id: string }): number => this.#inHand.get(id)?.message.attempts ?? maxAttempts

  async #keep(message: { id: string }, error: unknown): Promise<void> {
    const { database, clock, log } = this.#needs
    const attempts = this.#attemptsOf(message)
    const restMs = restsMs[attempts - 1] ?? longRestMs
    const problem = reasonOf(error)
    const about = { inbound_id: message.id, attempts, reason: problem, again_in_seconds: restMs / 1000 }
    if (attempts < maxAttempts) log.warn(about, 'a message could not be filed and is tried again')
    else log.error(about, 'a message cannot be filed; it is kept in the spool and tried once a day')
    const at = new Date(clock.now().getTime() + restMs)
    await putOff(database, { owner: this.#owner, id: message.id, at, problem }).catch((failure: unknown) => this.#warnOfClaim(failure))
  }

  async #putBack(ids: string[]): Promise<void> {
    const { database, clock } = this.#needs
    await putBack(database, { owner: this.#owner, ids, at: clock.now() }).catch((failure: unknown) => this.#warnOfClaim(failure))
  }

  /** The claim runs out by itself. */
  #warnOfClaim(error: unknown): void {
    this.#troubles.returning.met(error)
  }
}

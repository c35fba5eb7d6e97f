import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../base/clock.ts'
import type { BroadcastId, ProjectId } from '../../base/ids.ts'
import type { Log } from '../../base/log.ts'
import type { Loop } from '../../base/loop.ts'
import { Rest } from '../../base/rest.ts'
import { onWake } from '../../base/wake.ts'
import type { Database } from '../../database/database.ts'
import { Places } from '../places.ts'
import type { Transport } from '../transports/index.ts'
import { createWarmUps, type WarmUps } from '../warm-up.ts'
import type { Breaker } from './breaker.ts'
import type { BroadcastKey, Claimed } from './broadcast.ts'
import { startChores } from './chores.ts'
import { giveBack, openAmong, putOff } from './claim.ts'
import { ahead, ClaimTurns } from './claim-turns.ts'
import type { DomainGate } from './domain-gate.ts'
import { handOver } from './hand-over.ts'
import { Leases } from './leases.ts'
import type { SendingNode } from './node.ts'
import type { Renderer } from './render.ts'
import { finishBroadcasts, type Settled, settleBatch } from './settle.ts'
import { troublesOf } from './troubles.ts'
import { WaitingLine } from './waiting-line.ts'

/**
 * The stream: expand → claim → render and sign → hand over → journal → settle. Claims run ahead of the sockets by at most `ahead`
 * messages; outcomes are settled a batch at a time. Whatever dies, dies in one of these states: not claimed (due), claimed (leased, and
 * due again when the lease ends), accepted (in the journal), settled.
 *
 * A lease is renewed for as long as this process lives and reaches the database. When it cannot, nothing more is handed over: others
 * may have what is waiting here. What waits for its turn in the transport is asked about again before it is sent (`#mayBegin`).
 */
export interface BroadcastSender {
  database: Database
  clock: Clock
  log: Log
  transport: Transport
  node: SendingNode
  renderer: Renderer
  breaker: Breaker
  gate: DomainGate
  leaseMs: number
  /** How many are handed over at once, of all projects together. */
  concurrency?: number
}

const settleSize = 500
const settleEveryMs = 100
const restMs = 500
const stoppingLookMs = 20

export function startBroadcastSender(sender: BroadcastSender): Loop {
  const stream = new BroadcastStream(sender)
  const offWake = onWake('broadcasts', () => stream.rouse())
  const running = stream.run()
  const chores = startChores(sender, restMs, () => stream.rouse())
  return {
    async stop() {
      offWake()
      stream.stop()
      await Promise.all([running, chores.stop()])
    },
  }
}

class BroadcastStream {
  readonly #sender: BroadcastSender
  readonly #places: Places<ProjectId>
  readonly #waiting: WaitingLine
  readonly #outcomes: Settled[] = []
  /** Those that are being told to the database. */
  #settling: Settled[] = []
  readonly #sending = new Set<Claimed>()
  /** Claimed, not to be sent from here, and not given back yet. */
  readonly #unbegun: Claimed[] = []
  readonly #warmUps: WarmUps
  readonly #turns: ClaimTurns
  readonly #leases: Leases
  /** Of those that something is at hand of: paused, aborted, or gone. */
  #closed = new Set<BroadcastId>()
  #isStopping = false
  #isRoused = false
  readonly #resting = new Rest()
  #flushing: Promise<void> = Promise.resolve()
  #isFlushDue = false
  #isJournalBroken = false
  readonly #troubles: ReturnType<typeof troublesOf>
  #pumpTimer: NodeJS.Timeout | undefined

  constructor(sender: BroadcastSender) {
    this.#sender = sender
    this.#warmUps = createWarmUps(sender.database)
    this.#waiting = new WaitingLine(sender.gate, sender.clock)
    this.#turns = new ClaimTurns({ ...sender, warmUps: this.#warmUps, waiting: this.#waiting })
    this.#leases = new Leases(sender)
    this.#places = new Places(sender.concurrency ?? 128)
    this.#troubles = troublesOf(sender.log)
  }

  rouse(): void {
    this.#isRoused = true
    this.#resting.end()
  }

  stop(): void {
    this.#isStopping = true
    this.rouse()
  }

  async run(): Promise<void> {
    const { node } = this.#sender
    const timer = setInterval(() => void this.#flush(), settleEveryMs)
    while (!this.#isStopping) {
      this.#isRoused = false
      const more = await this.#troubles.step.around(() => this.#leases.inStep(() => this.#step()), false)
      // Roused while the step was running: what it was roused for may have come too late for that step.
      if (!more && !this.#isRoused) await this.#resting.for(restMs)
    }
    clearTimeout(this.#pumpTimer)
    await this.#letGo()
    clearInterval(timer)
    await this.#flush()
    node.stop()
  }

  /** What has not begun is given back at once, for others to send. What has is waited for, and stays ours until it is settled. */
  async #letGo(): Promise<void> {
    for (;;) {
      this.#unbegun.push(...this.#waiting.remove(() => true))
      const isTold = await this.#giveBackUnbegun()
        .then(() => this.#leases.renew(this.#leases.lessee(), () => this.#held()))
        .then(
          () => true,
          (error: Error) => {
            this.#troubles.lettingGo.met(error)
            return false
          },
        )
      if (this.#sending.size === 0 && (!isTold || (this.#waiting.isEmpty && this.#unbegun.length === 0))) return
      await sleep(isTold ? stoppingLookMs : restMs)
    }
  }

  /** True when there may be more to do at once. */
  async #step(): Promise<boolean> {
    const { database } = this.#sender
    const lessee = this.#leases.lessee()
    if (await this.#leases.renew(lessee, () => this.#held())) this.#waiting.remove((delivery) => this.#leases.isLost(delivery))
    await this.#sender.breaker.look()
    await this.#holdBackClosed()
    await this.#giveBackUnbegun()
    // With outcomes that cannot be told, sending more would only make more of them; without a journal, nothing may be sent.
    if (this.#outcomes.length > 10 * settleSize || !this.#isJournalSound()) return false
    const { claimed, isMore } = await this.#turns.claim(lessee, () => this.#pump())
    this.#pump()
    await this.#putOffSurplus()
    if (claimed === 0 && this.#isIdle()) await finishBroadcasts(database)
    return isMore
  }

  #held(): Pick<Claimed, 'id'>[] {
    return [...this.#waiting.all(), ...this.#sending, ...[...this.#settling, ...this.#outcomes].map(({ delivery }) => delivery)]
  }

  /** What was claimed of a broadcast that has been paused or aborted since does not go out. */
  async #holdBackClosed(): Promise<void> {
    const atHand = new Map<BroadcastId, BroadcastKey>()
    for (const { project_id, broadcast_id: id } of [...this.#waiting.all(), ...this.#sending]) atHand.set(id, { project_id, id })
    const open = new Set(atHand.size === 0 ? [] : (await openAmong(this.#sender.database, [...atHand.values()])).map(({ id }) => id))
    this.#closed = new Set([...atHand.keys()].filter((id) => !open.has(id)))
    if (this.#closed.size > 0) this.#unbegun.push(...this.#waiting.remove(({ broadcast_id }) => this.#closed.has(broadcast_id)))
  }

  async #giveBackUnbegun(): Promise<void> {
    const { database, clock, node } = this.#sender
    const count = this.#unbegun.length
    if (count === 0) return
    const ids = this.#unbegun.map(({ id }) => id)
    await giveBack(database, node.id, ids, clock.now())
    this.#unbegun.splice(0, count)
    this.#warmUps.lookAgain()
  }

  /** So that what waits for its domain fills neither the memory nor the window. */
  async #putOffSurplus(): Promise<void> {
    const { surplus } = this.#waiting
    const count = surplus.length
    if (count === 0) return
    await putOff(this.#sender.database, this.#sender.node.id, surplus)
    this.#waiting.forgetSurplus(count)
  }

  #isIdle(): boolean {
    return this.#waiting.isEmpty && this.#sending.size === 0 && this.#outcomes.length === 0
  }

  get #maySend(): boolean {
    return !this.#isStopping && !this.#isJournalBroken && this.#leases.areHeld
  }

  /** Asked when its turn has come in the transport, where it may have waited for long. */
  #mayBegin(delivery: Claimed): boolean {
    return this.#maySend && !this.#closed.has(delivery.broadcast_id) && !this.#leases.isLost(delivery)
  }

  readonly #hasPlace = ({ project_id }: Claimed): boolean => this.#places.hasRoomFor(project_id)

  #pump(): void {
    while (this.#maySend && !this.#places.isFull) {
      const delivery = this.#waiting.take(this.#hasPlace)
      if (!delivery) {
        this.#pumpLater()
        return
      }
      this.#sending.add(delivery)
      this.#places.take(delivery.project_id)
      void this.#send(delivery)
    }
  }

  /** When a domain's time has come. */
  #pumpLater(): void {
    const { waitMs } = this.#waiting
    if (waitMs === null) return
    clearTimeout(this.#pumpTimer)
    this.#pumpTimer = setTimeout(() => this.#pump(), Math.min(waitMs, restMs))
  }

  async #send(delivery: Claimed): Promise<void> {
    const result = await handOver(this.#sender, delivery, () => this.#mayBegin(delivery))
    this.#sending.delete(delivery)
    this.#places.leave(delivery.project_id)
    if (result === 'later') {
      // The next step sends it, if it gets to the database.
      this.#waiting.putBack(delivery)
      return
    }
    if (result === 'gone' || result === 'unbegun') {
      this.#waiting.undo(delivery)
      // What others took may be ours again by now, by another claim: that one counts.
      if (result === 'unbegun' && !this.#leases.isLost(delivery)) this.#unbegun.push(delivery)
      this.rouse()
      return this.#pump()
    }
    if (result.journalError) this.#onJournalError(result.journalError)
    this.#waiting.done(delivery, result.outcome)
    this.#outcomes.push({ delivery, outcome: result.outcome })
    if (this.#outcomes.length >= settleSize) void this.#flush()
    if (this.#waiting.length < ahead / 2 || this.#waiting.lengthOf(delivery.broadcast_id) === 0) this.rouse()
    this.#pump()
  }

  #onJournalError(error: unknown): void {
    this.#isJournalBroken = true
    this.#troubles.journal.met(error)
  }

  /** What is on the way is told to the database all the same; only nothing more leaves. */
  #isJournalSound(): boolean {
    if (!this.#isJournalBroken) return true
    try {
      this.#sender.node.journal.check()
    } catch (error) {
      this.#onJournalError(error)
      return false
    }
    this.#isJournalBroken = false
    this.#troubles.journal.over()
    return true
  }

  /** One at a time, and at most one that waits for it: more would find only what came in the moment between. */
  #flush(): Promise<void> {
    const { database, clock, node } = this.#sender
    if (this.#isFlushDue) return this.#flushing
    this.#isFlushDue = true
    this.#flushing = this.#flushing.then(async () => {
      this.#isFlushDue = false
      const batch = this.#outcomes.splice(0)
      if (batch.length === 0) return
      this.#settling = batch
      try {
        await settleBatch(database, node.id, batch, clock.now())
        this.#settling = []
        this.#troubles.settling.over()
        node.journal.settled(batch.map(({ delivery }) => delivery.id))
        if (this.#isIdle()) this.rouse()
        this.#sender.breaker.watch(batch)
      } catch (error) {
        // The database is away: what happened is kept, and told when it is back.
        this.#outcomes.unshift(...batch)
        this.#settling = []
        this.#troubles.settling.met(error, { waiting: this.#outcomes.length })
        await sleep(1_000)
      }
    })
    return this.#flushing
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../base/clock.ts'
import type { BroadcastId } from '../../base/ids.ts'
import type { Log } from '../../base/log.ts'
import { type Loop, startLoop } from '../../base/loop.ts'
import { onWake } from '../../base/wake.ts'
import { type Database, isConnectionLoss } from '../../database/database.ts'
import type { Outcome, Transport } from '../transports/index.ts'
import type { Breaker } from './breaker.ts'
import type { Claimed } from './broadcast.ts'
import { claimDeliveries, giveBack, type Lessee, openBroadcasts, renewLeases } from './claim.ts'
import { expandOne } from './expand.ts'
import type { SendingNode } from './node.ts'
import type { Rendered, Renderer } from './render.ts'
import { closeAborted, finishBroadcasts, type Settled, settleBatch } from './settle.ts'

/**
 * The stream: expand → claim → render and sign → hand over → journal → settle. Claims run ahead of the sockets by at most `ahead`
 * messages; outcomes are settled a batch at a time. Whatever dies, dies in one of these states: not claimed (due), claimed (leased, and
 * due again when the lease ends), accepted (in the journal), settled.
 *
 * A lease is renewed for as long as this process lives and reaches the database. When it cannot, nothing more is handed over: others
 * may have what is waiting here.
 */
export interface BroadcastSender {
  database: Database
  clock: Clock
  log: Log
  transport: Transport
  node: SendingNode
  renderer: Renderer
  breaker: Breaker
  leaseMs: number
  /** How many are handed over at once. */
  concurrency?: number
}

const claimSize = 500
const ahead = 2_000
const settleSize = 500
const settleEveryMs = 100
const restMs = 500

export function startBroadcastSender(sender: BroadcastSender): Loop {
  const stream = new BroadcastStream(sender)
  const offWake = onWake('broadcasts', () => stream.rouse())
  const running = stream.run()
  const chores = startChores(sender, () => stream.rouse())
  return {
    async stop() {
      offWake()
      stream.stop()
      await Promise.all([running, chores.stop()])
    },
  }
}

/** What no socket waits for, beside the stream: in turns with the claims, each chunk of five thousand new deliveries would hold them up. */
const startChores = ({ database, clock, log }: BroadcastSender, onExpanded: () => void): Loop =>
  startLoop({
    name: 'broadcasts',
    log,
    on: 'broadcasts',
    everyMs: restMs,
    step: async () => {
      const isExpanded = await expandOne(database)
      if (isExpanded) onExpanded()
      const isClosed = await closeAborted(database, clock.now())
      // Now and then, whatever else is under way: one broadcast does not wait for the end of another.
      await finishBroadcasts(database)
      return isExpanded || isClosed
    },
  })

class BroadcastStream {
  readonly #sender: BroadcastSender
  readonly #concurrency: number
  #waiting: Claimed[] = []
  readonly #outcomes: Settled[] = []
  readonly #sending = new Set<Claimed>()
  #isStopping = false
  #isRoused = false
  #endRest = () => {}
  #flushing: Promise<void> = Promise.resolve()
  /** Until when nobody else may take what waits here. */
  #heldUntil = 0
  #isJournalBroken = false

  constructor(sender: BroadcastSender) {
    this.#sender = sender
    this.#concurrency = sender.concurrency ?? 100
  }

  rouse(): void {
    this.#isRoused = true
    this.#endRest()
  }

  stop(): void {
    this.#isStopping = true
    this.rouse()
  }

  async run(): Promise<void> {
    const { database, clock, log, node } = this.#sender
    const timer = setInterval(() => void this.#flush(), settleEveryMs)
    while (!this.#isStopping) {
      this.#isRoused = false
      const more = await this.#step().catch((error: unknown) => {
        log.warn({ reason: (error as Error).message }, 'a step of the broadcast sender failed and is tried again')
        return false
      })
      if (!more) await this.#rest()
    }
    clearInterval(timer)
    const left = this.#waiting.splice(0).map(({ id }) => id)
    while (this.#sending.size > 0) await sleep(10)
    await this.#flush()
    if (left.length > 0) await giveBack(database, node.id, left, clock.now())
    node.stop()
  }

  #rest(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, restMs)
      this.#endRest = () => {
        clearTimeout(timer)
        resolve()
      }
      // Roused while the step was running: what it was roused for may have come too late for that step.
      if (this.#isRoused || this.#isStopping) this.#endRest()
    })
  }

  /** True when there may be more to do at once. */
  async #step(): Promise<boolean> {
    const { database } = this.#sender
    // One moment for the whole step: what is claimed is held no longer than `#heldUntil` says, also when the clock jumps in between.
    const lessee = this.#lessee()
    await this.#renew(lessee)
    // With outcomes that cannot be told, sending more would only make more of them; without a journal, nothing may be sent.
    if (this.#outcomes.length > 10 * settleSize || !this.#isJournalSound()) return false
    await this.#sender.breaker.look()
    const open = await openBroadcasts(database)
    await this.#giveBackClosed(new Set(open.map(({ id }) => id)))
    let claimed = 0
    for (const broadcast of open) {
      if (this.#waiting.length >= ahead) break
      const { wanted, taken } = await claimDeliveries(database, broadcast, lessee, claimSize)
      claimed += taken
      this.#waiting.push(...wanted)
      this.#pump()
    }
    this.#pump()
    if (claimed === 0 && this.#isIdle()) await finishBroadcasts(database)
    return claimed > 0 && this.#waiting.length < ahead
  }

  #lessee(): Lessee {
    const { node, clock, leaseMs } = this.#sender
    return { node_id: node.id, now: clock.now(), lease_ms: leaseMs }
  }

  /** Four times in the life of a lease. */
  async #renew(lessee: Lessee): Promise<void> {
    const { database, leaseMs } = this.#sender
    const now = lessee.now.getTime()
    if (now < this.#heldUntil - 0.75 * leaseMs) return
    // This process slept, or was cut off, for longer than its leases lasted.
    if (now >= this.#heldUntil) this.#waiting = []
    const held = [...this.#waiting, ...this.#sending, ...this.#outcomes.map(({ delivery }) => delivery)]
    if (held.length > 0)
      await renewLeases(
        database,
        lessee,
        held.map(({ id }) => id),
      )
    this.#heldUntil = now + leaseMs
  }

  /** What was claimed of a broadcast that has been paused or aborted since does not go out. */
  async #giveBackClosed(open: Set<BroadcastId>): Promise<void> {
    const { database, clock, node } = this.#sender
    if (this.#waiting.every(({ broadcast_id }) => open.has(broadcast_id))) return
    const closed = this.#waiting.filter(({ broadcast_id }) => !open.has(broadcast_id)).map(({ id }) => id)
    this.#waiting = this.#waiting.filter(({ broadcast_id }) => open.has(broadcast_id))
    await giveBack(database, node.id, closed, clock.now())
  }

  #isIdle(): boolean {
    return this.#waiting.length === 0 && this.#sending.size === 0 && this.#outcomes.length === 0
  }

  #pump(): void {
    const { clock } = this.#sender
    while (!this.#isStopping && !this.#isJournalBroken && this.#sending.size < this.#concurrency) {
      if (clock.now().getTime() >= this.#heldUntil) return
      const delivery = this.#waiting.shift()
      if (!delivery) return
      this.#sending.add(delivery)
      void this.#send(delivery)
    }
  }

  async #send(delivery: Claimed): Promise<void> {
    const result = await handOver(this.#sender, delivery)
    this.#sending.delete(delivery)
    if (result === 'later') {
      // The next step sends it, if it gets to the database.
      this.#waiting.unshift(delivery)
      return
    }
    if (result.journalError) this.#onJournalError(result.journalError)
    this.#outcomes.push({ delivery, outcome: result.outcome })
    if (this.#outcomes.length >= settleSize) void this.#flush()
    if (this.#waiting.length < ahead / 2) this.rouse()
    this.#pump()
  }

  #onJournalError(error: Error): void {
    if (this.#isJournalBroken) return
    this.#isJournalBroken = true
    this.#sender.log.error({ reason: error.message }, 'sending stops: what is accepted cannot be noted in DATA_DIR; is the disk full?')
  }

  /** What is on the way is told to the database all the same; only nothing more leaves. */
  #isJournalSound(): boolean {
    if (!this.#isJournalBroken) return true
    try {
      this.#sender.node.journal.check()
    } catch {
      // Told once, when it began.
      return false
    }
    this.#isJournalBroken = false
    this.#sender.log.warn({}, 'the journal can be written again: sending goes on')
    return true
  }

  #flush(): Promise<void> {
    const { database, clock, log, node } = this.#sender
    this.#flushing = this.#flushing.then(async () => {
      const batch = this.#outcomes.splice(0)
      if (batch.length === 0) return
      try {
        await settleBatch(database, node.id, batch, clock.now())
        node.journal.settled(batch.map(({ delivery }) => delivery.id))
        if (this.#isIdle()) this.rouse()
        this.#sender.breaker.watch(batch)
      } catch (error) {
        // The database is away: what happened is kept, and told when it is back.
        this.#outcomes.unshift(...batch)
        log.warn({ reason: (error as Error).message, waiting: this.#outcomes.length }, 'outcomes are settled later')
        await sleep(1_000)
      }
    })
    return this.#flushing
  }
}

interface HandedOver {
  outcome: Outcome
  /** The peer has it, and the journal could not be told. */
  journalError?: Error
}

/** `later` when the database was away before anybody was asked. */
async function handOver({ transport, node, renderer, log }: BroadcastSender, delivery: Claimed): Promise<HandedOver | 'later'> {
  let rendered: Rendered
  try {
    rendered = await renderer.render(delivery)
  } catch (error) {
    if (isConnectionLoss(error)) return 'later'
    log.warn({ delivery_id: delivery.id, reason: (error as Error).message }, 'a message could not be put together')
    return { outcome: notPutTogether((error as Error).message) }
  }
  const { envelope, message, message_id, subject } = rendered
  let isAccepted = false
  const onAccepted = () => {
    isAccepted = true
    node.journal.append(delivery.id)
  }
  try {
    return {
      outcome: await transport.send(envelope, message, { message_id, subject, lane: delivery.broadcast_id, isDotSafe: true, onAccepted }),
    }
  } catch (error) {
    if (isAccepted) return { outcome: { kind: 'delivered', smtp_code: 250, response: 'accepted' }, journalError: error as Error }
    log.error({ delivery_id: delivery.id, reason: (error as Error).message }, 'a message could not be handed over')
    return { outcome: notHandedOver((error as Error).message) }
  }
}

const notPutTogether = (detail: string): Outcome => ({
  kind: 'bounced',
  smtp_code: 554,
  enhanced_code: '5.6.0',
  reason: 'The message could not be put together for this recipient',
  detail,
})

/** Nobody foresaw it, so it counts as temporary. */
const notHandedOver = (detail: string): Outcome => ({
  kind: 'deferred',
  smtp_code: null,
  enhanced_code: null,
  reason: 'The message could not be handed over; it is tried again',
  detail,
})

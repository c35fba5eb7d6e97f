import { randomUUID } from 'node:crypto'
import type { WebhookId } from '../../../base/ids.ts'
import { InTouch } from '../../../base/in-touch.ts'
import { LastingWrites, writeOnStopMs } from '../../../base/lasting-writes.ts'
import { rarely } from '../../../base/trouble.ts'
import { wake } from '../../../base/wake.ts'
import { countWebhookAttempt } from '../../../metrics/counters.ts'
import type { Services } from '../../../operations/context.ts'
import { type CallOutcome, callEndpoint, type Endpoint } from './call-endpoint.ts'
import { disableWebhook, mostFailures } from './disable-webhook.ts'
import { EndpointRooms } from './endpoint-rooms.ts'
import { EventBodies } from './event-bodies.ts'
import { HeldQueue } from './held-queue.ts'
import type { MassPace } from './mass-pace.ts'
import { type Due, nextDeliveries } from './next-deliveries.ts'
import {
  claimQueues,
  dropLeases,
  endDeliveries,
  hasEnded,
  type Lease,
  type QueueState,
  type Returned,
  readQueues,
  renewLeases,
  returnQueues,
} from './queue-queries.ts'
import { createSettling } from './settle-deliveries.ts'
import { type Consequence, whatFollows } from './what-follows.ts'

type Parts = Pick<Services, 'database' | 'clock' | 'log' | 'config' | 'secrets' | 'guardedFetch'>

const mostHeld = 3_000
const claimAtOnce = 200
const claimEveryMs = 200
/** How old what is known of a webhook may be: it may have been paused, or given another address. */
const trustedForMs = 500
/** Of one queue, so many times what it may send at once are read ahead. */
const readAhead = 16
const mostUnsettled = 2_000
const endAtOnce = 5_000
/** A queue that finds no room for so long is given back, and left alone for a while. */
const stuckForMs = 1_000
const restOfStuckMs = 2_000
/** What `wake` says when nothing was added or changed: a place has become free. */
export const anAnswer = 'answer'

/**
 * Sends what is due. Each step: lease queues in which something is due; read what is next in them; call as many endpoints as have room; give
 * back what has nothing left. Answers are settled in batches on the side.
 */
export class Dispatcher {
  readonly #parts: Parts
  readonly #pace: MassPace
  readonly #lease: Lease
  readonly #rooms: EndpointRooms
  readonly #bodies: EventBodies
  readonly #settle: ReturnType<typeof createSettling>
  readonly #held = new Map<WebhookId, HeldQueue>()
  readonly #underWay = new Set<Promise<void>>()
  readonly #stopping = new AbortController()
  readonly #writes = new LastingWrites()
  readonly #inTouch: InTouch
  #unsettled = 0
  #mayFindMore = true
  #claimedAt = Number.NEGATIVE_INFINITY
  #renewedAt = performance.now()

  constructor(parts: Parts, { leaseMs, pace }: { leaseMs: number; pace: MassPace }) {
    this.#parts = parts
    this.#pace = pace
    this.#lease = { owner: randomUUID(), leaseMs }
    this.#inTouch = new InTouch(leaseMs)
    this.#rooms = new EndpointRooms(parts.clock)
    this.#bodies = new EventBodies(parts.database)
    this.#settle = createSettling(parts.database)
  }

  /** Something was added, or a webhook changed: this one, or any. */
  rouse(webhook_id?: WebhookId): void {
    this.#mayFindMore = true
    const queue = webhook_id && this.#held.get(webhook_id)
    if (queue) queue.lookedAt = Number.NEGATIVE_INFINITY
  }

  /** True when there may be more to do at once. */
  step(): Promise<boolean> {
    return this.#inTouch.ask(() => this.#step())
  }

  async #step(): Promise<boolean> {
    this.#rooms.noticeSlow()
    await this.#renew()
    const mayFindMore = this.#mayFindMore
    this.#mayFindMore = false
    await this.#claim(mayFindMore)
    await this.#look(mayFindMore)
    await this.#begin()
    await this.#giveBack()
    return this.#mayFindMore
  }

  /** What is under way may end within `graceMs`; then it is cut off, and sent again by whoever takes its queue up. */
  async stop(graceMs: number): Promise<void> {
    for (const queue of this.#held.values()) queue.clearLine()
    const timer = setTimeout(() => this.#stopping.abort(new Error('this process ends')), graceMs)
    this.#writes.endWithin(writeOnStopMs)
    await Promise.all(this.#underWay)
    clearTimeout(timer)
    await dropLeases(this.#parts.database, this.#lease.owner)
  }

  async #renew(): Promise<void> {
    if (performance.now() - this.#renewedAt < this.#lease.leaseMs / 4) return
    const asked = performance.now()
    const ours = await renewLeases(this.#parts.database, this.#lease)
    this.#renewedAt = asked
    const ids = new Set(ours.map(({ webhook_id }) => webhook_id))
    for (const id of this.#held.keys()) if (!ids.has(id)) this.#forget(id)
    // Leased by a statement whose answer was lost on its way to us.
    for (const key of ours) if (!this.#held.has(key.webhook_id)) this.#held.set(key.webhook_id, new HeldQueue({ ...key, filed: 0 }))
  }

  #forget(id: WebhookId): void {
    this.#held.get(id)?.clearLine()
    this.#held.delete(id)
  }

  async #claim(isRoused: boolean): Promise<void> {
    const most = Math.min(claimAtOnce, this.#rooms.free, mostHeld - this.#held.size)
    if (most <= 0 || (!isRoused && performance.now() - this.#claimedAt < claimEveryMs)) return
    this.#claimedAt = performance.now()
    const claiming = { most, now: this.#parts.clock.now(), takesOver: this.#inTouch.mayTakeOver }
    const claimed = await claimQueues(this.#parts.database, this.#lease, claiming)
    for (const queue of claimed) this.#held.set(queue.webhook_id, new HeldQueue(queue))
    if (claimed.length === most) this.#mayFindMore = true
  }

  /** Reads what comes next where the line is short, and how the webhooks are. */
  async #look(isRoused: boolean): Promise<void> {
    const { database, clock } = this.#parts
    const before = performance.now() - trustedForMs
    const looking = [...this.#held.values()].filter(
      (queue) => queue.lookedAt < before || (queue.line.length < this.#windowOf(queue) && (isRoused || !queue.isExhausted)),
    )
    if (looking.length === 0) return
    const keys = looking.map(({ key }) => key)
    const states = new Map((await readQueues(database, keys, this.#lease.owner)).map((state) => [state.webhook_id, state]))
    for (const queue of looking) {
      const state = states.get(queue.key.webhook_id)
      if (state) await this.#hear(queue, state)
      else this.#forget(queue.key.webhook_id)
      queue.lookedAt = performance.now()
    }
    const looks = looking
      .filter((queue) => queue.isActive && queue.endsUntil === null && queue.line.length < readAhead * this.#windowOf(queue))
      .map((queue) => ({ ...queue.key, after: queue.after, most: readAhead * this.#windowOf(queue) + queue.open.size, queue }))
    if (looks.length === 0) return
    for (const { queue } of looks) queue.beginLook()
    const asked = looks.map(({ queue: _, ...look }) => look)
    const found = Map.groupBy(await nextDeliveries(database, asked, clock.now()), ({ webhook_id }) => webhook_id)
    for (const { queue, most } of looks) queue.add(found.get(queue.key.webhook_id) ?? [], most)
  }

  /** One whose secret cannot be read holds up none of the others. */
  async #hear(queue: HeldQueue, state: QueueState): Promise<void> {
    try {
      queue.hear(state, this.#parts.secrets)
    } catch (error) {
      const { webhook_id } = queue.key
      this.#parts.log.error({ webhook_id, reason: (error as Error).message }, 'a webhook is disabled because its secret cannot be read')
      await disableWebhook(this.#parts, queue.key, 'secret_unreadable')
    }
  }

  #windowOf({ key }: HeldQueue): number {
    return this.#rooms.windowOf(key.webhook_id)
  }

  async #begin(): Promise<void> {
    const chosen: Chosen[] = []
    let free = Math.min(this.#rooms.free, mostUnsettled - this.#unsettled)
    for (const queue of this.#held.values()) {
      const { key, line, endpoint } = queue
      const room = endpoint && line.length > 0 ? Math.min(free, this.#rooms.roomFor(key.webhook_id)) : 0
      for (let count = 0; count < room && this.#mayGo(line[0]); count++) {
        // Its place is taken here: the next queue may lead to the same host.
        const leave = this.#rooms.enter(key.webhook_id, (endpoint as Endpoint).url) // without one there is no room
        chosen.push({ queue, due: line.shift() as Due, leave }) // mayGo has seen it
        free--
      }
      const isStuck = free > 0 && queue.line.length > 0 && queue.open.size === queue.line.length
      queue.stuckSince = isStuck ? (queue.stuckSince ?? performance.now()) : null
    }
    if (chosen.length === 0) return
    try {
      await this.#bodies.load(chosen.map(({ due }) => due))
    } catch (error) {
      for (const { queue, due, leave } of chosen) {
        leave(null)
        queue.close(due.id, false)
      }
      throw error
    }
    for (const one of chosen) this.#send(one)
  }

  /** What is one of thousands goes when whoever makes them can spare the processor. */
  #mayGo(due: Due | undefined): boolean {
    return due !== undefined && (due.event_id === due.event_row_id || this.#pace.take())
  }

  #send({ queue, due, leave }: Chosen): void {
    const sending = this.#deliver(queue.endpoint as Endpoint, due, leave) // a line has deliveries only after its webhook was read
      .then(
        () => queue.close(due.id, true),
        (error: Error) => {
          queue.close(due.id, false)
          if (!this.#stopping.signal.aborted)
            rarely(this.#parts.log, 'a webhook delivery is looked at again').met(error, { delivery_id: due.id })
        },
      )
      .finally(() => {
        this.#underWay.delete(sending)
        wake('webhooks', anAnswer)
      })
    this.#underWay.add(sending)
  }

  async #deliver(endpoint: Endpoint, due: Due, leave: Chosen['leave']): Promise<void> {
    let outcome: CallOutcome | null = null
    try {
      const body = this.#bodies.bodyOf(due)
      if (body === null) return await this.#conclude(due, nothingToSay(this.#parts.clock.now()), { ...over, counts: null })
      const { id: delivery_id, event_id, event_type: type } = due
      outcome = await callEndpoint(this.#parts, endpoint, { delivery_id, event_id, type, body, signal: this.#stopping.signal })
      countWebhookAttempt(outcome)
    } finally {
      leave(outcome)
      wake('webhooks', anAnswer)
    }
    const rules = { backoffSeconds: this.#parts.config.WEBHOOK_BACKOFF_SECONDS, chance: Math.random() }
    await this.#conclude(due, outcome, whatFollows(due, outcome, rules))
  }

  async #conclude(due: Due, outcome: CallOutcome, follows: Consequence): Promise<void> {
    this.#unsettled++
    const about = { log: this.#parts.log, about: { delivery_id: due.id, outcome: outcome.status } }
    try {
      const standing = await this.#writes.write(() => this.#settle({ due, outcome, follows }), about)
      if (follows.isGone) await disableWebhook(this.#parts, due, 'gone')
      else if (follows.counts === 'failed' && (standing?.consecutive_failures ?? 0) >= mostFailures)
        await disableWebhook(this.#parts, due, 'consecutive_failures')
    } finally {
      this.#unsettled--
    }
  }

  /** Queues with nothing to send now go back, each with the time at which somebody should look again. */
  async #giveBack(): Promise<void> {
    const returned: Returned[] = []
    for (const queue of this.#held.values()) {
      const look_at = this.#rooms.restsUntil(queue.key.webhook_id) ?? this.#stuckUntil(queue)
      if (look_at !== null && queue.line.length > 0) queue.clearLine()
      if (queue.open.size > 0 || queue.lookedAt === Number.NEGATIVE_INFINITY) continue
      if (queue.endsUntil !== null) await this.#end(queue)
      else if (!queue.isActive || look_at !== null || queue.isExhausted)
        returned.push({ ...queue.key, filed: queue.filed, hasMore: !queue.isExhausted, look_at, isIdle: !queue.isActive })
    }
    if (returned.length === 0) return
    const gone = await returnQueues(this.#parts.database, returned, this.#lease.owner)
    for (const { webhook_id } of gone) this.#forget(webhook_id)
    // Something was added to the others meanwhile.
    if (gone.length < returned.length) this.#mayFindMore = true
  }

  /** Thousands that lead to one slow host would otherwise be all that is held, and nobody else's queue be claimed. */
  #stuckUntil({ stuckSince }: HeldQueue): Date | null {
    if (stuckSince === null || performance.now() - stuckSince < stuckForMs) return null
    return new Date(this.#parts.clock.now().getTime() + restOfStuckMs)
  }

  /** A piece of what a disabled webhook has left. */
  async #end(queue: HeldQueue): Promise<void> {
    const ending = { ...queue.key, until: queue.endsUntil as NonNullable<typeof queue.endsUntil> } // asked for only when there is one
    if ((await endDeliveries(this.#parts.database, ending, endAtOnce)) < endAtOnce) {
      await hasEnded(this.#parts.database, ending)
      queue.endsUntil = null
    }
    this.#mayFindMore = true
  }
}

interface Chosen {
  queue: HeldQueue
  due: Due
  /** Gives its place back. */
  leave: ReturnType<EndpointRooms['enter']>
}

const over = { status: 'failed', next_at: null, isGone: false } as const

const nothingToSay = (now: Date): CallOutcome => ({
  status: 'failed',
  http_status: null,
  duration_ms: 0,
  error: 'its event is no longer kept',
  response_headers: null,
  response_body: null,
  attempted_at: now,
  retry_after_ms: null,
})

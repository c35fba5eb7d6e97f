import { randomUUID } from 'node:crypto'
import { createDoorbell } from '../../base/doorbell.ts'
import { reasonOf } from '../../base/errors.ts'
import type { ProjectId } from '../../base/ids.ts'
import type { Log } from '../../base/log.ts'
import { type Loop, startLoop } from '../../base/loop.ts'
import type { Database } from '../../database/database.ts'
import type { EventType } from '../../events/catalogue.ts'
import type { EventRow } from '../../events/expand-events.ts'
import { dropInterest, type Interest, pruneInterests, setInterest, setInterests } from '../../events/interests.ts'
import { horizonOf, readTail, type TailRow } from './event-queries.ts'

/**
 * The end of the outbox, read once for all streams of this process and handed to those whom it concerns. A follower that is further
 * behind than its queue holds lets go of the queue and reads the database by itself until it has caught up (`follow-events.ts`): so no
 * slow reader costs memory, and none misses anything.
 */
export interface Follower {
  readonly project_id: ProjectId
  readonly types: readonly EventType[]
  /** What came since it asked last, oldest first. Null: more than was kept for it; it has to look for itself. */
  take(): EventRow[] | null
  /** From now on, what comes is kept for it again. */
  beginAnew(): void
  rest(ms: number): Promise<void>
  isOver(): boolean
}

/** What is kept for one follower. */
export interface QueueLimits {
  events: number
  bytes: number
}
const usualLimits: QueueLimits = { events: 5_000, bytes: 1024 * 1024 }

const pollMs = 500
/** Under load many commits rouse the tail. */
const pauseMs = 50
const renewEveryMs = 60_000
/** A process that dies leaves what its streams wanted for this long. */
const wantedForSeconds = 180

interface Run {
  /** Settles when nothing can be missed any more. */
  ready: Promise<unknown>
  stop(): void
}

export class EventTail {
  readonly #database: Database
  readonly #log: Log
  readonly #limits: QueueLimits
  readonly #followers = new Map<ProjectId, Set<QueuedFollower>>()
  #run: Run | null = null

  constructor(database: Database, log: Log, limits = usualLimits) {
    this.#database = database
    this.#log = log
    this.#limits = limits
  }

  /** Until `ended`. When it resolves, the types are wanted, and whatever is committed from then on is in the queue or in the database. */
  async follow({ project_id, types }: Pick<Follower, 'project_id' | 'types'>, ended: AbortSignal): Promise<Follower> {
    const follower = new QueuedFollower({ project_id, types, ended, limits: this.#limits })
    if (ended.aborted) return follower
    const here = this.#followers.get(project_id) ?? new Set()
    this.#followers.set(project_id, here.add(follower))
    ended.addEventListener('abort', () => this.#leave(follower), { once: true })
    await this.#database.transaction((tx) => setInterest(tx, follower.interest))
    if (ended.aborted) {
      // It left meanwhile, and what it wanted may have been written after it was taken back.
      await this.#forget(follower)
      return follower
    }
    this.#run ??= this.#start()
    await this.#run.ready
    return follower
  }

  #leave(follower: QueuedFollower): void {
    const here = this.#followers.get(follower.project_id)
    here?.delete(follower)
    if (here?.size === 0) this.#followers.delete(follower.project_id)
    void this.#forget(follower)
    if (this.#followers.size > 0) return
    this.#run?.stop()
    this.#run = null
  }

  async #forget({ interest }: QueuedFollower): Promise<void> {
    await this.#database
      .transaction((tx) => dropInterest(tx, interest))
      .catch((error: unknown) => this.#log.debug({ reason: reasonOf(error) }, 'what a stream wanted ends by itself in a few minutes'))
  }

  #start(): Run {
    let isOver = false
    const loops: Loop[] = []
    const begin = async () => {
      let place = await horizonOf(this.#database)
      if (isOver) return
      const step = async () => {
        const rows = await readTail(this.#database, place, [...this.#followers.keys()])
        const last = rows.at(-1)
        // Whoever came after the end of this run has another one.
        if (isOver || !last) return false
        place = { ...last, item: null }
        this.#handOut(rows)
        return true
      }
      loops.push(startLoop({ name: 'event streams', log: this.#log, on: 'events', everyMs: pollMs, pauseMs, step }))
      loops.push(startLoop({ name: 'renew interests', log: this.#log, everyMs: renewEveryMs, step: () => this.#renew() }))
    }
    const run: Run = {
      ready: begin(),
      stop() {
        isOver = true
        for (const loop of loops) void loop.stop()
      },
    }
    run.ready.catch(() => {
      // The next one who comes tries again.
      if (this.#run === run) this.#run = null
    })
    return run
  }

  #handOut(rows: TailRow[]): void {
    for (const row of rows) for (const follower of this.#followers.get(row.project_id) ?? []) follower.add(row)
  }

  async #renew(): Promise<boolean> {
    const interests = [...this.#followers.values()].flatMap((some) => [...some].map(({ interest }) => interest))
    if (interests.length > 0) await setInterests(this.#database, interests)
    await pruneInterests(this.#database)
    return false
  }
}

interface Following {
  project_id: ProjectId
  types: readonly EventType[]
  ended: AbortSignal
  limits: QueueLimits
}

class QueuedFollower implements Follower {
  readonly project_id: ProjectId
  readonly types: readonly EventType[]
  readonly interest: Interest
  readonly #bell
  readonly #limits: QueueLimits
  #rows: TailRow[] = []
  #held = { events: 0, bytes: 0 }
  #isBehind = true

  constructor({ project_id, types, ended, limits }: Following) {
    this.project_id = project_id
    this.types = types
    this.interest = { project_id, consumer: `stream:${randomUUID()}`, types, lasts_seconds: wantedForSeconds }
    this.#bell = createDoorbell(ended)
    this.#limits = limits
  }

  add(row: TailRow): void {
    if (this.#isBehind) return
    // Read before this follower came: what it says was not asked for.
    const isUnread = row.data === null && row.items === null
    if (!isUnread && !this.types.includes(row.type)) return
    this.#held.events += row.item_count
    this.#held.bytes += row.bytes
    this.#isBehind = isUnread || this.#held.events > this.#limits.events || this.#held.bytes > this.#limits.bytes
    if (this.#isBehind) this.#empty()
    else this.#rows.push(row)
    this.#bell.ring()
  }

  take(): EventRow[] | null {
    if (this.#isBehind) return null
    const rows = this.#rows
    this.#empty()
    return rows
  }

  beginAnew(): void {
    this.#isBehind = false
    this.#empty()
  }

  #empty(): void {
    this.#rows = []
    this.#held = { events: 0, bytes: 0 }
  }

  rest(ms: number): Promise<void> {
    return this.#bell.rest(ms)
  }

  isOver(): boolean {
    return this.#bell.isOver()
  }
}

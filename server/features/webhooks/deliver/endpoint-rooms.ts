import type { Clock } from '../../../base/clock.ts'
import type { WebhookId } from '../../../base/ids.ts'
import type { CallOutcome } from './call-endpoint.ts'

/** Requests at once: of a process, and to one endpoint that is well. */
export const mostAtOnce = 1_500
const mostToEndpoint = 8
/** Endpoints that are slow or fail share these; the rest is there for those that are well. */
const mostToPoor = 1_000
/** Many webhooks lead to one host, which may have some that hang. */
const mostToPoorOfHost = 48
const slowMs = 1_000
const noticeEveryMs = 100
/** With so many under way, whoever is slow gets one at a time. */
const crowded = mostAtOnce / 2
/** An endpoint that fails again and again is asked less and less often. */
const patience = 5
const shortestRestMs = 100
const longestRestMs = 5_000
/** However long it asks for, others' deliveries to it are not held for longer; the one that it refused is. */
const longestAskedRestMs = 60_000
const mostRemembered = 10_000
/** It is about to be switched off. */
const gone = 410

interface Room {
  host: string
  /** How many it may have at once: it doubles with every quick yes and halves with every failure. */
  window: number
  /** When each that is under way has begun. */
  begun: number[]
  isPoor: boolean
  failuresInRow: number
  /** By the program's clock. */
  restsUntil: number
}

/**
 * How many requests an endpoint may have at once. A new one begins with one and shows what it can do, so that one that hangs never holds
 * more than a few of the places that all share, and those that are well always find some.
 */
export class EndpointRooms {
  readonly #clock: Clock
  readonly #rooms = new Map<WebhookId, Room>()
  readonly #poorOfHost = new Map<string, number>()
  #taken = 0
  #takenByPoor = 0
  #noticedAt = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get free(): number {
    return mostAtOnce - this.#taken
  }

  /** How many more may begin at this moment. */
  roomFor(id: WebhookId): number {
    const room = this.#rooms.get(id)
    if (!room) return Math.min(1, this.free)
    if (this.restsUntil(id) !== null) return 0
    const window = room.isPoor && this.#taken > crowded ? 1 : room.window
    const free = Math.min(this.free, window - room.begun.length)
    if (!room.isPoor) return Math.max(0, free)
    const ofHost = mostToPoorOfHost - (this.#poorOfHost.get(room.host) ?? 0)
    return Math.max(0, Math.min(free, mostToPoor - this.#takenByPoor, ofHost))
  }

  /** How many it may have when none is under way. */
  windowOf(id: WebhookId): number {
    return this.#rooms.get(id)?.window ?? 1
  }

  /** Until when it is left alone, if it is. */
  restsUntil(id: WebhookId): Date | null {
    const until = this.#rooms.get(id)?.restsUntil ?? 0
    return until > this.#clock.now().getTime() ? new Date(until) : null
  }

  /** Takes a place; what it answers gives the place back. */
  enter(id: WebhookId, url: string): (outcome: CallOutcome | null) => void {
    const room = this.#roomOf(id, URL.parse(url)?.host ?? '')
    const began = performance.now()
    room.begun.push(began)
    this.#taken++
    if (room.isPoor) this.#countPoor(room, 1)
    return (outcome) => {
      if (room.isPoor) this.#countPoor(room, -1)
      room.begun.splice(room.begun.indexOf(began), 1)
      this.#taken--
      if (outcome) this.#learn(room, outcome)
    }
  }

  /** Those that have kept us waiting for long are slow, before they have answered. Cheap to call often. */
  noticeSlow(): void {
    if (performance.now() - this.#noticedAt < noticeEveryMs) return
    this.#noticedAt = performance.now()
    const before = this.#noticedAt - slowMs
    for (const room of this.#rooms.values()) if (!room.isPoor && (room.begun[0] ?? before) < before) this.#setPoor(room, true)
  }

  #roomOf(id: WebhookId, host: string): Room {
    const known = this.#rooms.get(id)
    if (known) {
      if (known.begun.length === 0) known.host = host
      return known
    }
    if (this.#rooms.size >= mostRemembered) for (const [other, { begun }] of this.#rooms) if (begun.length === 0) this.#rooms.delete(other)
    const room: Room = { host, window: 1, begun: [], isPoor: false, failuresInRow: 0, restsUntil: 0 }
    this.#rooms.set(id, room)
    return room
  }

  #learn(room: Room, { status, http_status, duration_ms, retry_after_ms }: CallOutcome): void {
    const isYes = status === 'delivered'
    const isSlow = duration_ms >= slowMs
    this.#setPoor(room, !isYes || isSlow)
    room.window = isYes ? Math.min(mostToEndpoint, isSlow ? room.window + 1 : 2 * room.window) : Math.max(1, Math.floor(room.window / 2))
    room.failuresInRow = isYes ? 0 : room.failuresInRow + 1
    const over = room.failuresInRow - patience
    const restMs = http_status === gone ? longestRestMs : over > 0 ? Math.min(longestRestMs, shortestRestMs * 2 ** Math.min(over, 10)) : 0
    const askedMs = Math.min(retry_after_ms ?? 0, longestAskedRestMs)
    room.restsUntil = isYes ? 0 : this.#clock.now().getTime() + Math.max(restMs, askedMs)
  }

  #setPoor(room: Room, isPoor: boolean): void {
    if (room.isPoor === isPoor) return
    if (room.isPoor) this.#countPoor(room, -room.begun.length)
    room.isPoor = isPoor
    if (isPoor) this.#countPoor(room, room.begun.length)
  }

  #countPoor({ host }: Room, more: number): void {
    this.#takenByPoor += more
    const left = (this.#poorOfHost.get(host) ?? 0) + more
    if (left > 0) this.#poorOfHost.set(host, left)
    else this.#poorOfHost.delete(host)
  }
}

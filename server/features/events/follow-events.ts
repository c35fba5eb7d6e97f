import type { Database } from '../../database/database.ts'
import { type EventRow, eventsOf, type PublishedEvent } from '../../events/expand-events.ts'
import { readOfProject } from './event-queries.ts'
import type { Follower } from './event-tail.ts'
import { isAfter, type Moment, type Place } from './place.ts'

export interface Start {
  /** Nothing up to here is told again. */
  after: Place
  /** For who begins now: what had been committed by then is not told either. */
  since: Moment | null
}

/** Nothing came for as long as the follower rests at most. */
export const quiet = Symbol('quiet')

/**
 * The events of a project, one after the other, until the follower is over; `quiet` now and then. It reads the database while it is
 * behind, and then what the tail hands out. What the tail saw before `beginAnew` is final, so the database has it; what it sees later is
 * in the queue; and what is in both is told once, because the place only goes forward.
 */
export async function* followEvents(
  database: Database,
  follower: Follower,
  { start: { after, since }, restMs }: { start: Start; restMs: number },
): AsyncGenerator<PublishedEvent[] | typeof quiet> {
  let place = after
  const tell = function* (rows: EventRow[]): Generator<PublishedEvent[]> {
    for (const row of rows) {
      const isCut = row.position === place.position && row.transaction_id === place.transaction_id && place.item !== null
      if (!isCut && !isAfter(row, place)) continue
      const events = eventsOf(row).slice(isCut ? (place.item as number) + 1 : 0)
      place = { transaction_id: row.transaction_id, position: row.position, item: null }
      if (!since?.has(row.transaction_id)) yield events
    }
  }
  while (!follower.isOver()) {
    const rows = follower.take()
    if (rows === null) {
      follower.beginAnew()
      for (let more = true; more && !follower.isOver(); ) {
        const found = await readOfProject(database, follower, place)
        yield* tell(found)
        more = found.length > 0
      }
      continue
    }
    yield* tell(rows)
    if (rows.length > 0) continue
    const began = performance.now()
    await follower.rest(restMs)
    if (performance.now() - began >= restMs - 10) yield quiet
  }
}

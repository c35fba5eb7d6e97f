import type { EventId, ProjectId } from '../../../base/ids.ts'
import type { Queryable } from '../../../database/database.ts'
import { envelopeOf } from '../../../events/envelope.ts'
import { eventAt, type StoredEvent } from '../../../events/expand-events.ts'
import { testBodyOf, testType } from '../webhook.ts'
import type { Due } from './next-deliveries.ts'

/** What is erased from an event is gone from what we say of it after this long at the latest. */
const keptForMs = 1_000
/** Only what many deliveries are about is worth keeping. */
const manyItems = 20
const mostRows = 100

/**
 * What deliveries say. Thousands of them are about one bulk row, one after the other: it is read once and kept for a moment. `null` stands for
 * an event that is no longer there.
 */
export class EventBodies {
  readonly #db: Queryable
  readonly #rows = new Map<string, { row: StoredEvent | null; until: number }>()

  constructor(db: Queryable) {
    this.#db = db
  }

  /** Reads what these need and is not there. */
  async load(deliveries: Due[]): Promise<void> {
    const now = performance.now()
    for (const [key, { row, until }] of this.#rows)
      if (until <= now || (row?.items?.rows.length ?? 0) < manyItems || this.#rows.size > mostRows) this.#rows.delete(key)
    const missing = new Map(
      deliveries.filter((due) => due.event_row_id !== null && !this.#rows.has(keyOf(due))).map((due) => [keyOf(due), due]),
    )
    if (missing.size === 0) return
    const found = await findEvents(this.#db, [...missing.values()])
    for (const key of missing.keys()) this.#rows.set(key, { row: null, until: now + keptForMs })
    for (const row of found) this.#rows.set(`${row.project_id} ${row.id}`, { row, until: now + keptForMs })
  }

  /** Of one that was loaded just before. */
  bodyOf(due: Due): string | null {
    if (due.event_type === testType) return testBodyOf(due)
    const row = this.#rows.get(keyOf(due))?.row
    return row ? bodyAt(row, due) : null
  }
}

const keyOf = ({ event_project_id, event_row_id }: Due): string => `${event_project_id} ${event_row_id}`

/** What a delivery says of its event: of a bulk row, the one item. Null when that is not there. */
export function bodyAt(row: StoredEvent, { item, event_id }: Pick<Due, 'item' | 'event_id'>): string | null {
  const told = eventAt(row, item)
  return told && JSON.stringify(envelopeOf({ ...told, id: event_id }))
}

const findEvents = (db: Queryable, some: Due[]) => db.many<StoredEvent>`
  select id, project_id, type, data, items, created_at from events
  where (project_id, id) in (select * from unnest(${some.map(({ event_project_id }) => event_project_id as ProjectId)}::uuid[],
    ${some.map(({ event_row_id }) => event_row_id as EventId)}::uuid[]))`

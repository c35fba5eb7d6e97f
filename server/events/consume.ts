import type { Log } from '../base/log.ts'
import { type Loop, startLoop } from '../base/loop.ts'
import type { Database, Transaction } from '../database/database.ts'
import { nothing, sql } from '../database/sql.ts'
import type { EventType } from './catalogue.ts'
import type { EventRow } from './expand-events.ts'

/**
 * A reader of the outbox with a cursor of its own. What `handle` writes and the cursor's step are one transaction, so an event
 * takes effect exactly once whatever is killed; only one process works for a consumer at a time.
 */
export interface Consumer {
  name: string
  /** What it wants to hear of; the rest passes by unread. */
  types: readonly EventType[]
  /** False for one that needs to know only what happened: the data of a bulk row can be a megabyte. */
  readsData?: false
  /** Answers whether any of it concerned anybody. */
  handle(tx: Transaction, rows: EventRow[]): Promise<boolean>
}

/** Rows a batch, and events in them: a bulk row alone can hold thousands. */
const maxRows = 500
const maxEvents = 5_000
const pollMs = 500
/** Under load many commits rouse the consumers, and each look is five statements. A reader who cannot wait so long asks for `catchUp`. */
const pauseMs = 50

interface Batch {
  /** None means "caught up", or "another process is at it" unless told to wait for that. */
  rows: number
  /** There was no room for more. */
  isFull: boolean
  /** Some of it concerned somebody. */
  isOfInterest: boolean
}
const nothingTaken: Batch = { rows: 0, isFull: false, isOfInterest: false }

export function consumeBatch(database: Database, consumer: Consumer, { waits = false } = {}): Promise<Batch> {
  return database.transaction(async (tx) => {
    if (waits) await tx.run`set local lock_timeout = '1s'`
    const cursor = await tx.first<{ transaction_id: string; position: number }>`
      select transaction_id::text, position from event_consumers where name = ${consumer.name} for update ${waits ? nothing : sql`skip locked`}`
    if (!cursor) return nothingTaken
    const rows = await readAfter(tx, cursor, consumer.readsData === false ? [] : consumer.types)
    const last = rows.at(-1)
    if (!last) return nothingTaken
    const wanted = rows.filter((row) => consumer.types.includes(row.type))
    const isOfInterest = wanted.length > 0 && (await consumer.handle(tx, wanted))
    await tx.run`
      update event_consumers set transaction_id = ${last.transaction_id}::xid8, position = ${last.position}, updated_at = now()
      where name = ${consumer.name}`
    const events = rows.reduce((sum, { item_count }) => sum + item_count, 0)
    return { rows: rows.length, isFull: rows.length === maxRows || events >= maxEvents, isOfInterest }
  })
}

const catchUps = new WeakMap<Database, Map<Consumer, { running: Promise<void>; next: Promise<void> | null }>>()
const catchUpMs = 1_000
const lockTimeout = '55P03'

/**
 * Handles what has been published so far, for a reader who wants to see what it has just done. At most one such wait runs for a
 * consumer and one more stands in line, however many readers there are; none waits much longer than a second.
 */
export function catchUp(database: Database, consumer: Consumer): Promise<void> {
  const ofDatabase = catchUps.get(database) ?? new Map()
  catchUps.set(database, ofDatabase)
  const current = ofDatabase.get(consumer)
  // The one that runs may have looked before our change was there; the next begins after it.
  if (current) {
    current.next ??= current.running.then(() => catchUp(database, consumer))
    return current.next
  }
  const running = consumeUntilEmpty(database, consumer).finally(() => ofDatabase.delete(consumer))
  ofDatabase.set(consumer, { running, next: null })
  return running
}

async function consumeUntilEmpty(database: Database, consumer: Consumer): Promise<void> {
  const end = performance.now() + catchUpMs
  try {
    while (performance.now() < end && (await consumeBatch(database, consumer, { waits: true })).rows > 0);
  } catch (error) {
    // Another process has much to do: the reader sees what there is so far.
    if ((error as { code?: string }).code !== lockTimeout) throw error
  }
}

/** Transactions commit in another order than they began: nothing at or above the oldest open one may be read yet, or it is skipped for good. */
const readAfter = (tx: Transaction, cursor: { transaction_id: string; position: number }, types: readonly EventType[]) => tx.many<EventRow>`
  with due as (
    select project_id, id, transaction_id, position,
      sum(item_count) over (order by transaction_id, position) - item_count as events_before
    from (
      select project_id, id, transaction_id, position, item_count from events
      where (transaction_id, position) > (${cursor.transaction_id}::xid8, ${cursor.position}::bigint)
        and transaction_id < pg_snapshot_xmin(pg_current_snapshot())
      order by transaction_id, position
      limit ${maxRows}
    ) next_rows
  )
  select e.id, e.project_id, e.type, e.item_count, e.created_at, e.transaction_id::text, e.position,
    case when e.type = any(${types}) then e.data end as data, case when e.type = any(${types}) then e.items end as items
  from due join events e using (project_id, id)
  where due.events_before < ${maxEvents}
  order by due.transaction_id, due.position`

/**
 * Runs every consumer until stopped, each at its own pace: a slow one holds up none of the others. One that this database has not seen before
 * begins with all that is kept; where that would be wrong, a migration has written its cursor.
 */
export async function startConsumers(database: Database, log: Log, consumers: Consumer[]): Promise<Loop[]> {
  for (const { name } of consumers) await database.run`insert into event_consumers (name) values (${name}) on conflict do nothing`
  return consumers.map((consumer) =>
    startLoop({
      name: `consumer ${consumer.name}`,
      log,
      on: 'events',
      everyMs: pollMs,
      pauseMs,
      step: async (isRoused) => {
        const { rows, isFull, isOfInterest } = await consumeBatch(database, consumer)
        // What nobody is roused for and concerns nobody is mostly followed by more of its kind, and that can wait for the next look.
        return rows > 0 && (isRoused || isOfInterest || isFull)
      },
    }),
  )
}

import type { EventId, ProjectId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import type { EventType } from '../../events/catalogue.ts'
import type { EventRow } from '../../events/expand-events.ts'
import { type Place, rowIdsOf } from './place.ts'

/** Rows at a time, and events in them: one row alone can stand for thousands. */
const maxRows = 100
const maxEvents = 5_000

/** A row as the tail sees it: without what it says where nobody here reads the project. */
export interface TailRow extends EventRow {
  /** As it is stored: compressed, so what it takes in memory is more. */
  bytes: number
}

/**
 * What anybody has published after a place. As in events/consume.ts, nothing at or above the oldest open transaction is read yet:
 * transactions commit in another order than they began. Rows that nobody here reads cost nothing; of those that somebody does, so many events.
 */
export const readTail = (db: Queryable, place: Place, projects: ProjectId[]) => db.many<TailRow>`
  with next_rows as materialized (
    select project_id, id, transaction_id, position, case when project_id = any(${projects}::uuid[]) then item_count else 0 end as events from events
    where (transaction_id, position) > (${place.transaction_id}::xid8, ${place.position}::bigint)
      and transaction_id < pg_snapshot_xmin(pg_current_snapshot())
    order by transaction_id, position
    limit ${maxRows * 5}
  ), due as (
    select *, sum(events) over (order by transaction_id, position) - events as events_before from next_rows
  )
  select due.project_id, due.id, due.transaction_id::text, due.position, coalesce(e.type, '') as type, e.data, e.items, e.item_count, e.created_at,
    coalesce(pg_column_size(e.data), pg_column_size(e.items), 0) as bytes
  from due left join events e on e.project_id = due.project_id and e.id = due.id and due.project_id = any(${projects}::uuid[])
  where due.events_before < ${maxEvents}
  order by due.transaction_id, due.position`

/** What one project has published after a place, as far as it is wanted. */
export const readOfProject = (
  db: Queryable,
  { project_id, types }: { project_id: ProjectId; types: readonly EventType[] },
  { transaction_id, position, item }: Place,
) => db.many<EventRow>`
  with due as (
    select id, sum(item_count) over (order by transaction_id, position) - item_count as events_before
    from (
      select id, transaction_id, position, item_count from events
      where project_id = ${project_id} and (transaction_id, position) > (${transaction_id}::xid8, ${item === null ? position : position - 1}::bigint)
        and transaction_id < pg_snapshot_xmin(pg_current_snapshot()) and type = any(${types})
      order by transaction_id, position
      limit ${maxRows}
    ) next_rows
  )
  select e.project_id, e.id, e.transaction_id::text, e.position, e.type, e.data, e.items, e.item_count, e.created_at
  from due join events e on e.project_id = ${project_id} and e.id = due.id
  where due.events_before < ${maxEvents}
  order by e.transaction_id, e.position`

/** Everything before this has been committed or never will be. */
export async function horizonOf(db: Queryable): Promise<Place> {
  const row = await db.first<{ transaction_id: string }>`select pg_snapshot_xmin(pg_current_snapshot())::text as transaction_id`
  // Positions begin at 1.
  return { transaction_id: row?.transaction_id ?? '0', position: 0, item: null }
}

export async function currentSnapshot(db: Queryable): Promise<string> {
  const row = await db.first<{ snapshot: string }>`select pg_current_snapshot()::text as snapshot`
  return row?.snapshot ?? '0:0:'
}

/** Where an event stands that somebody was told; null when it is not kept any more, or never was this project's. */
export async function placeOfEvent(db: Queryable, project_id: ProjectId, id: EventId): Promise<Place | null> {
  const { lowest, highest, item } = rowIdsOf(id)
  const rows = await db.many<{ id: string; transaction_id: string; position: number; item_count: number; is_bulk: boolean }>`
    select id, transaction_id::text, position, item_count, items is not null as is_bulk from events
    where project_id = ${project_id} and id between ${lowest} and ${highest}`
  const row = rows.find((one) => (one.is_bulk ? item < one.item_count : one.id === id))
  if (!row) return null
  const { transaction_id, position } = row
  return { transaction_id, position, item: row.is_bulk && item < row.item_count - 1 ? item : null }
}

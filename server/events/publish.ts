import { newId, type ProjectId } from '../base/ids.ts'
import { wake } from '../base/wake.ts'
import { copyTarget } from '../database/copy-rows.ts'
import type { Transaction } from '../database/database.ts'
import { type Fragment, sql } from '../database/sql.ts'
import { presenterOf } from '../operations/present.ts'
import { catalogue, type EventData, type EventType } from './catalogue.ts'

/** Writes the event in the transaction of the change it tells of. Outside a transaction this does not compile. */
export async function publish<Type extends EventType>(
  tx: Transaction,
  project_id: ProjectId,
  type: Type,
  data: EventData<Type>,
): Promise<void> {
  const wire = presenterOf(catalogue[type].data)(data)
  await tx.run`
    insert into events (project_id, id, type, data, created_at)
    values (${project_id}, ${newId<'evt'>()}, ${type}, ${JSON.stringify(wire)}, ${tx.now})`
  rouseConsumers(tx)
}

export type NewEvent = { [Type in EventType]: { project_id: ProjectId; type: Type; data: EventData<Type> } }[EventType]

/** Several of whatever types, in this order, in one statement. */
export async function publishEach(tx: Transaction, events: NewEvent[]): Promise<void> {
  if (events.length === 0) return
  await insertEach(tx, events)
  rouseConsumers(tx)
}

const insertEach = (tx: Transaction, events: NewEvent[]) => tx.run`
    with told as (
      select * from json_to_recordset(${JSON.stringify(events.map(eventRow))}) as event (project_id uuid, id uuid, type text, data jsonb, number integer)
    ), ${inserting(tx)} select`

const rouseConsumers = (tx: Transaction): void => tx.afterCommit(() => wake('events'))

/** An event as statements take it that write several; `number` says where it stands among them. */
export const eventRow = <Type extends EventType>({ type, data, ...event }: { type: Type; data: EventData<Type> }, number: number) => ({
  ...event,
  id: newId<'evt'>(),
  type,
  data: presenterOf(catalogue[type].data)(data),
  number,
})

/** For statements that change many things and tell of them: goes after a `told` with the columns of an event row. */
export function publishing(tx: Transaction): Fragment {
  rouseConsumers(tx)
  return inserting(tx)
}

const inserting = ({ now }: Transaction): Fragment => sql`published as (
    insert into events (project_id, id, type, data, created_at) select project_id, id, type, data, ${now} from told order by number)`

/**
 * Thousands of events of one type as one row: what they share is said once, in the form it has on the wire, with `$0`, `$1`, … where
 * they differ (`$#2` where it is a number). Words that somebody else chose may begin with a `$` of their own: they are passed through `asShared`. Consumers see single
 * events (`expand-events.ts`).
 */
export interface Bulk {
  template: object
  rows: (string | null)[][]
}

/** Events of one type that have little in common, as one row: each of its rows is all that one event says. */
export interface LooseBulk {
  template: '$0'
  rows: [Record<string, unknown>][]
}

export const asShared = (text: string): string => (text.startsWith('$') ? `$${text}` : text)

export const publishBulk = (tx: Transaction, project_id: ProjectId, type: EventType, bulk: Bulk): Promise<void> =>
  publishBulks(tx, [{ project_id, type, bulk }])

export interface BulkOfType {
  project_id: ProjectId
  type: EventType
  bulk: Bulk | LooseBulk
}

const bulkEvents = copyTarget('events', {
  project_id: 'uuid',
  id: 'uuid',
  type: 'text',
  items: 'json',
  item_count: 'integer',
  created_at: 'timestamptz',
})

/** In this order, in one statement. Those without rows are left out. */
export async function publishBulks(tx: Transaction, bulks: BulkOfType[]): Promise<void> {
  const some = bulks.filter(({ bulk }) => bulk.rows.length > 0)
  if (some.length === 0) return
  await insertBulks(tx, some)
  rouseConsumers(tx)
}

const insertBulks = (tx: Transaction, bulks: BulkOfType[]) =>
  tx.copy(
    bulkEvents,
    bulks.map(({ project_id, type, bulk }) => ({
      project_id,
      id: newId<'evt'>(),
      type,
      items: bulk,
      item_count: bulk.rows.length,
      created_at: tx.now,
    })),
  )

const mostTogether = 100

/**
 * What nobody listens for now, in few rows: of rows of their own, PostgreSQL would have many times the work. Types keep no order among them. Nobody is roused
 * for it, since each look of a consumer is five statements; they come to it in their own time, as does who has only just begun to listen.
 */
export async function publishUnheard(tx: Transaction, events: NewEvent[]): Promise<void> {
  const [single, bulks]: [NewEvent[], BulkOfType[]] = [[], []]
  for (const alike of Map.groupBy(events, ({ project_id, type }) => `${project_id} ${type}`).values()) {
    const [first] = alike as [NewEvent, ...NewEvent[]] // no group is empty
    if (alike.length === 1) single.push(first)
    else for (let at = 0; at < alike.length; at += mostTogether) bulks.push(togetherOf(first, alike.slice(at, at + mostTogether)))
  }
  if (single.length > 0) await insertEach(tx, single)
  if (bulks.length > 0) await insertBulks(tx, bulks)
}

const togetherOf = ({ project_id, type }: NewEvent, alike: NewEvent[]): BulkOfType => ({
  project_id,
  type,
  bulk: { template: '$0', rows: alike.map(({ data }) => [presenterOf(catalogue[type].data)(data) as Record<string, unknown>]) },
})

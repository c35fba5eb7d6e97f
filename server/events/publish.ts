import { newId, type ProjectId } from '../base/ids.ts'
import { wake } from '../base/wake.ts'
import type { Transaction } from '../database/database.ts'
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
  tx.afterCommit(() => wake('events'))
}

/**
 * Thousands of events of one type as one row: what they share is said once, in the form it has on the wire, with `$0`, `$1`, … where
 * they differ. Words that somebody else chose may begin with a `$` of their own: they are passed through `asShared`. Consumers see single
 * events (`expand-events.ts`).
 */
export interface Bulk {
  template: object
  rows: (string | null)[][]
}

export const asShared = (text: string): string => (text.startsWith('$') ? `$${text}` : text)

export const publishBulk = (tx: Transaction, project_id: ProjectId, type: EventType, bulk: Bulk): Promise<void> =>
  publishBulks(tx, [{ project_id, type, bulk }])

export interface BulkOfType {
  project_id: ProjectId
  type: EventType
  bulk: Bulk
}

/** In this order, in one statement. Those without rows are left out. */
export async function publishBulks(tx: Transaction, bulks: BulkOfType[]): Promise<void> {
  const some = bulks.filter(({ bulk }) => bulk.rows.length > 0)
  if (some.length === 0) return
  await tx.run`
    insert into events (project_id, id, type, items, item_count, created_at)
    select project_id, id, type, items, item_count, ${tx.now} from unnest(
      ${some.map(({ project_id }) => project_id)}::uuid[], ${some.map(() => newId<'evt'>())}::uuid[], ${some.map(({ type }) => type)}::text[],
      ${some.map(({ bulk }) => JSON.stringify(bulk))}::json[], ${some.map(({ bulk }) => bulk.rows.length)}::integer[]
    ) as bulk (project_id, id, type, items, item_count)`
  tx.afterCommit(() => wake('events'))
}

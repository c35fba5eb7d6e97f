import { newId, type ProjectId, type WebhookDeliveryId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import type { StoredEvent } from '../../events/expand-events.ts'
import { bodyAt } from './deliver/event-bodies.ts'
import { rouseQueue } from './deliver/queue-queries.ts'
import { testBodyOf, testType, type WebhookDeliveryRow, type WebhookRow } from './webhook.ts'
import type { WebhookKey } from './webhook-queries.ts'

interface DeliveryFilter extends WebhookKey {
  status: WebhookDeliveryRow['status'] | undefined
  event_type: string | undefined
  after: string | null
  limit: number
}

/** Newest first, after the delivery `after`. */
export const pageDeliveries = (
  db: Queryable,
  { project_id, webhook_id, status, event_type, after, limit }: DeliveryFilter,
) => db.many<WebhookDeliveryRow>`
  select * from webhook_deliveries where project_id = ${project_id} and webhook_id = ${webhook_id}
    ${status === undefined ? nothing : sql`and status = ${status}`} ${event_type === undefined ? nothing : sql`and event_type = ${event_type}`}
    ${after === null ? nothing : sql`and id < ${after}`}
  order by id desc limit ${limit}`

export interface DeliveryKey extends WebhookKey {
  delivery_id: WebhookDeliveryId
}

export const findDelivery = (db: Queryable, { project_id, webhook_id, delivery_id }: DeliveryKey) => db.first<WebhookDeliveryRow>`
  select * from webhook_deliveries where project_id = ${project_id} and webhook_id = ${webhook_id} and id = ${delivery_id}`

/** The replay of this event that still waits. */
export const findPendingReplay = (
  tx: Transaction,
  { project_id, webhook_id, event_id }: WebhookDeliveryRow,
) => tx.first<WebhookDeliveryRow>`
  select * from webhook_deliveries
  where project_id = ${project_id} and webhook_id = ${webhook_id} and event_id = ${event_id} and is_replay and status = 'pending' limit 1`

type Told = Pick<WebhookDeliveryRow, 'event_project_id' | 'event_row_id' | 'item' | 'event_id' | 'event_type'>

/** Due at once for the engine, or not at all for one that whoever made it carries out. */
export const insertDelivery = async (
  tx: Transaction,
  { project_id, id }: Pick<WebhookRow, 'project_id' | 'id'>,
  { next_at, isReplay = false, ...told }: Told & { next_at: Date | null; isReplay?: boolean },
): Promise<WebhookDeliveryRow> => {
  const row = await tx.first<WebhookDeliveryRow>`
    insert into webhook_deliveries (project_id, webhook_id, id, event_project_id, event_row_id, item, event_id, event_type, next_at, is_replay, created_at)
    values (${project_id}, ${id}, ${newId<'whd'>()}, ${told.event_project_id}, ${told.event_row_id}, ${told.item}, ${told.event_id},
      ${told.event_type}, ${next_at}, ${isReplay}, ${tx.now})
    returning *`
  if (next_at !== null) await rouseQueue(tx, { project_id, webhook_id: id })
  return row! // an insert without conflict clause always returns its row
}

/** A test is no event of the outbox, yet has an id like one: receivers drop what they have seen by it. */
export const insertTest = (tx: Transaction, webhook: Pick<WebhookRow, 'project_id' | 'id'>, { next_at }: { next_at: Date | null }) =>
  insertDelivery(tx, webhook, {
    event_project_id: null,
    event_row_id: null,
    item: 0,
    event_id: newId<'evt'>(),
    event_type: testType,
    next_at,
  })

/** Of a bulk row, its template and the one item: the others are not read. */
const findEventOf = (db: Queryable, { event_project_id, event_row_id, item }: Told) => db.first<StoredEvent>`
  select id, project_id, type, data, created_at, case when items is not null then
    json_build_object('template', items -> 'template', 'rows', json_build_array(items -> 'rows' -> ${item}::integer)) end as items
  from events where project_id = ${event_project_id} and id = ${event_row_id}`

/** What the delivery says, made from its event; null when that is no longer kept. */
export async function bodyOfDelivery(db: Queryable, delivery: WebhookDeliveryRow): Promise<string | null> {
  if (delivery.event_type === testType) return testBodyOf(delivery)
  const found = await findEventOf(db, delivery)
  return found && bodyAt(found, { item: 0, event_id: delivery.event_id })
}

export const eventIsKept = async (db: Queryable, { event_project_id, event_row_id }: Told): Promise<boolean> =>
  (await db.first`select 1 from events where project_id = ${event_project_id} and id = ${event_row_id}`) !== null

type Outcome = Pick<
  WebhookDeliveryRow,
  'status' | 'http_status' | 'duration_ms' | 'error' | 'response_headers' | 'response_body' | 'attempted_at'
>

/** The end of a test, whose only attempt it was. */
export const settleTest = async (tx: Transaction, { project_id, webhook_id, id }: WebhookDeliveryRow, outcome: Outcome) => {
  const { response_headers } = outcome
  await tx.run`
    update webhook_deliveries set status = ${outcome.status}, attempt = 1, attempted_at = ${outcome.attempted_at}, http_status = ${outcome.http_status},
      duration_ms = ${outcome.duration_ms}, error = ${outcome.error}, response_headers = ${response_headers && JSON.stringify(response_headers)},
      response_body = ${outcome.response_body}, delivered_at = ${outcome.status === 'delivered' ? tx.now : null}
    where project_id = ${project_id} and webhook_id = ${webhook_id} and id = ${id}`
}

/** One piece of what a deleted webhook leaves. Answers how many rows went. */
export const removeDeliveries = (db: Queryable, { project_id, webhook_id }: WebhookKey, limit: number) => db.run`
  delete from webhook_deliveries where project_id = ${project_id} and webhook_id = ${webhook_id} and id in (
    select id from webhook_deliveries where project_id = ${project_id} and webhook_id = ${webhook_id} limit ${limit})`

/** What receivers answered may repeat what they were told about somebody, in a header as well: as part of an address to go to, encoded. */
export const eraseAnswers = (db: Queryable, project_id: ProjectId, patterns: string[]) => db.run`
  update webhook_deliveries set response_body = null, response_headers = null
  where project_id = ${project_id}
    and replace(replace(lower(coalesce(response_body, '') || coalesce(response_headers::text, '')), '%40', '@'), '%2b', '+') like any(${patterns}::text[])`

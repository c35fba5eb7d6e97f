import type { ProjectId, WebhookId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import { moveMasses } from './deliver/mass-queries.ts'
import { moveQueues } from './deliver/queue-queries.ts'
import type { WebhookRow } from './webhook.ts'

export interface WebhookKey {
  project_id: ProjectId
  webhook_id: WebhookId
}

export const findWebhook = (db: Queryable, { project_id, webhook_id }: WebhookKey) => db.first<WebhookRow>`
  select * from webhooks where project_id = ${project_id} and id = ${webhook_id}`

/** Held until the transaction ends: two changes of one webhook take turns. */
export const lockWebhook = (tx: Transaction, { project_id, webhook_id }: WebhookKey) => tx.first<WebhookRow>`
  select * from webhooks where project_id = ${project_id} and id = ${webhook_id} for update`

/** Newest first, after the webhook `after`. */
export const pageWebhooks = (db: Queryable, project_id: ProjectId, after: string | null, limit: number) => db.many<WebhookRow>`
  select * from webhooks where project_id = ${project_id} ${after === null ? nothing : sql`and id < ${after}`}
  order by id desc limit ${limit}`

/** Those who add one at the same moment take turns, so that all of them see how many there are. */
export const countWebhooksAlone = async (tx: Transaction, project_id: ProjectId): Promise<number> => {
  await tx.run`select 1 from projects where id = ${project_id} for no key update`
  const counted = await tx.first<{ count: number }>`select count(*) as count from webhooks where project_id = ${project_id}`
  return counted?.count ?? 0
}

export const insertWebhook = async (tx: Transaction, webhook: Pick<WebhookRow, 'project_id' | 'id' | 'url' | 'events' | 'secret'>) => {
  const row = await tx.first<WebhookRow>`
    insert into webhooks (project_id, id, url, events, secret, created_at, updated_at)
    values (${webhook.project_id}, ${webhook.id}, ${webhook.url}, ${webhook.events}, ${webhook.secret}, ${tx.now}, ${tx.now})
    returning *`
  return row! // an insert without conflict clause always returns its row
}

/**
 * What people can change. Whoever sets a status has seen that it was disabled; back at work, it starts as if it had never failed. The
 * failures of one that stays as it is are the engine's, which may be counting meanwhile.
 */
export const saveWebhook = async (
  tx: Transaction,
  { project_id, id, url, events, status }: WebhookRow,
  { isStatusSet }: { isStatusSet: boolean },
) => {
  const row = await tx.first<WebhookRow>`
    update webhooks set url = ${url}, events = ${events}, status = ${status}, updated_at = ${tx.now},
      disabled_at = case when ${isStatusSet}::boolean then null else disabled_at end,
      disabled_reason = case when ${isStatusSet}::boolean then null else disabled_reason end,
      consecutive_failures = case when ${isStatusSet && status === 'active'}::boolean then 0 else consecutive_failures end
    where project_id = ${project_id} and id = ${id} returning *`
  return row! // the caller holds it
}

/** The present secret becomes the one before; what was before that signs no more. */
export const replaceSecret = async (tx: Transaction, { project_id, webhook_id }: WebhookKey, next: { secret: Buffer; until: Date }) => {
  const row = await tx.first<WebhookRow>`
    update webhooks set previous_secret = secret, previous_until = ${next.until}, secret = ${next.secret}, updated_at = ${tx.now}
    where project_id = ${project_id} and id = ${webhook_id} returning *`
  return row! // the caller holds it
}

export const deleteWebhookRow = async (tx: Transaction, { project_id, webhook_id }: WebhookKey): Promise<boolean> =>
  (await tx.run`delete from webhooks where project_id = ${project_id} and id = ${webhook_id}`) > 0

/**
 * For when two projects become one. Secrets are sealed under the webhook's id alone, so they open in the other project as well. Events stay
 * where they were: what waits finds them there, and of what is settled only the fact that it was sent goes along.
 */
export async function moveWebhooks(tx: Transaction, { from, to }: { from: ProjectId; to: ProjectId }): Promise<void> {
  await tx.run`update webhooks set project_id = ${to} where project_id = ${from}`
  await tx.run`
    update webhook_deliveries set project_id = ${to}, event_row_id = case when status = 'pending' then event_row_id end
    where project_id = ${from}`
  await moveQueues(tx, { from, to })
  await moveMasses(tx, { from, to })
}

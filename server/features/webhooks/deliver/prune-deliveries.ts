import { lowestIdSince } from '../../../base/ids.ts'
import type { Queryable } from '../../../database/database.ts'
import { defineJob } from '../../../jobs/jobs.ts'
import type { WebhookKey } from '../webhook-queries.ts'

const dayMs = 86_400_000
/** As long as events are kept: a delivery without its event cannot be shown whole, nor replayed. */
const keptDays = 30
const chunk = 5_000

/** Whoever asked for a test carries it out, which takes ten seconds at most. */
const longestTestMs = 60_000

/** Every night, what is old in the logs of webhooks; tests that a restart cut off; and what a webhook has left that went while something was being filed for it. */
export const pruneWebhookDeliveries = defineJob<object>({
  name: 'webhooks.prune',
  schedule: '20 4 * * *',
  async run({ database, clock }) {
    const before = lowestIdSince(new Date(clock.now().getTime() - keptDays * dayMs))
    const cutOffBefore = new Date(clock.now().getTime() - longestTestMs)
    for (const log of await findLogs(database)) {
      while ((await removeBefore(database, log, log.is_gone ? null : before)) === chunk);
      await endTests(database, log, cutOffBefore)
    }
    await removeStrayQueues(database)
  },
})

/** A loose scan: of a million rows of one webhook, one is read. */
const findLogs = (db: Queryable) => db.many<WebhookKey & { is_gone: boolean }>`
  with recursive log as (
    (select project_id, webhook_id from webhook_deliveries order by project_id, webhook_id limit 1)
    union all
    select next.project_id, next.webhook_id from log cross join lateral (
      select project_id, webhook_id from webhook_deliveries d where (d.project_id, d.webhook_id) > (log.project_id, log.webhook_id)
      order by project_id, webhook_id limit 1
    ) next
  )
  select project_id, webhook_id, not exists (select 1 from webhooks w where w.project_id = log.project_id and w.id = log.webhook_id) as is_gone from log`

const removeBefore = (db: Queryable, { project_id, webhook_id }: WebhookKey, before: string | null) => db.run`
  delete from webhook_deliveries where project_id = ${project_id} and webhook_id = ${webhook_id} and id in (
    select id from webhook_deliveries
    where project_id = ${project_id} and webhook_id = ${webhook_id} and (${before}::uuid is null or id < ${before}) limit ${chunk})`

/** Nobody else settles them: they are in no queue. */
const endTests = (db: Queryable, { project_id, webhook_id }: WebhookKey, before: Date) => db.run`
  update webhook_deliveries set status = 'failed', error = 'the server was restarted before an answer came; send another test'
  where project_id = ${project_id} and webhook_id = ${webhook_id} and status = 'pending' and next_at is null and created_at < ${before}`

const removeStrayQueues = (db: Queryable) => db.run`
  delete from webhook_queues q where not exists (select 1 from webhooks w where w.project_id = q.project_id and w.id = q.webhook_id)`

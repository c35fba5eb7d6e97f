import { lowestIdSince } from '../../../base/ids.ts'
import type { Queryable, Transaction } from '../../../database/database.ts'
import { defineJob } from '../../../jobs/jobs.ts'
import type { Services } from '../../../operations/context.ts'
import { notifyOwners } from '../../identity/index.ts'
import type { WebhookKey } from '../webhook-queries.ts'

/**
 * So many wait for one endpoint for as long as events are kept. What is beyond has a day: time enough for one that is well to take a million,
 * and no reason to be told of last week before today.
 */
const mostWaiting = 100_000
const dayMs = 86_400_000
/** More than a process reads ahead of one queue: what is about to be sent is left alone. */
const aboutToGo = 1_000
const chunk = 5_000
/** Among so many of the last that failed, it shows whether the owners have been told already. */
const lastFailed = 1_000

const shownMost = mostWaiting.toLocaleString('en-US')
export const endedByBound = `it had waited for more than a day, behind others, and more than ${shownMost} were waiting after it. It can be replayed`

/** Every hour: a look at each queue costs a walk over one index, however many wait, and nothing is counted when events are filed. */
export const boundWebhookQueues = defineJob<object>({
  name: 'webhooks.bound',
  schedule: '35 * * * *',
  async run(services) {
    const { database, clock, log } = services
    const before = lowestIdSince(new Date(clock.now().getTime() - dayMs))
    for (const overfull of await findOverfull(database, before)) {
      await tellOwners(services, overfull)
      const ended = await endAll(database, overfull)
      log.warn({ webhook_id: overfull.webhook_id, ended }, 'a webhook does not keep up: its oldest deliveries have failed')
    }
  },
})

interface Overfull extends WebhookKey {
  url: string
  /** The last one that is too many, and too old. */
  until: string
}

/** First attempts alone: what has been tried is tried again within the hour, or has failed. */
const findOverfull = (db: Queryable, before: string) => db.many<Overfull>`
  select q.project_id, q.webhook_id, w.url, least(beyond.id, ${before}::uuid) as until
  from webhook_queues q join webhooks w on w.project_id = q.project_id and w.id = q.webhook_id
  cross join lateral (
    select id from webhook_deliveries d
    where d.project_id = q.project_id and d.webhook_id = q.webhook_id and d.status = 'pending' and d.attempt = 0 and d.next_at is not null
    order by id desc offset ${mostWaiting} limit 1
  ) beyond
  where exists (
    select 1 from (
      select id from webhook_deliveries d
      where d.project_id = q.project_id and d.webhook_id = q.webhook_id and d.status = 'pending' and d.attempt = 0 and d.next_at is not null
      order by id offset ${aboutToGo} limit 1) oldest
    where oldest.id <= least(beyond.id, ${before}::uuid))`

/** From the last one to the first, while somebody may be sending the first: what has ended is not walked over again. */
async function endAll(db: Queryable, overfull: Overfull): Promise<number> {
  let ended = 0
  for (let { until } = overfull; ; ) {
    const piece = await endSome(db, { ...overfull, until })
    ended += piece?.count ?? 0
    if (!piece?.first || piece.count < chunk) return ended
    until = piece.first
  }
}

/** The ids are found before: joined, a planner that knows nothing of the table yet would walk the index for each. */
const endSome = (db: Queryable, { project_id, webhook_id, until }: Overfull) => db.first<{ count: number; first: string | null }>`
  with ended as (
    update webhook_deliveries set status = 'failed', next_at = null, error = ${endedByBound}
    where project_id = ${project_id} and webhook_id = ${webhook_id} and status = 'pending' and attempt = 0 and id = any(array(
      select id from webhook_deliveries
      where project_id = ${project_id} and webhook_id = ${webhook_id} and status = 'pending' and attempt = 0 and next_at is not null
        and id <= ${until} and id >= (
          select id from webhook_deliveries
          where project_id = ${project_id} and webhook_id = ${webhook_id} and status = 'pending' and attempt = 0 and next_at is not null
          order by id offset ${aboutToGo} limit 1)
      order by id desc limit ${chunk}))
    returning id)
  select count(*) as count, min(id::text) as first from ended`

/** Once, and not again while it goes on. */
const tellOwners = (services: Pick<Services, 'database' | 'config'>, overfull: Overfull): Promise<void> =>
  services.database.transaction(async (tx) => {
    if (await isTold(tx, overfull)) return
    await notifyOwners(services, tx, { project_id: overfull.project_id, ...noticeOf(overfull.url) })
  })

const isTold = async (tx: Transaction, { project_id, webhook_id }: Overfull): Promise<boolean> =>
  (await tx.first`
    select 1 from (
      select error from webhook_deliveries where project_id = ${project_id} and webhook_id = ${webhook_id} and status = 'failed'
      order by id desc limit ${lastFailed}) last
    where error = ${endedByBound} limit 1`) !== null

const noticeOf = (url: string) => ({
  kind: 'webhook_behind',
  subject: 'A webhook does not keep up',
  parts: [
    `The webhook at ${new URL(url).host} is called as fast as it answers, and more than ${shownMost} deliveries are waiting for it. Those before them that have waited for more than a day are not sent any more: they have failed.`,
    'Let the endpoint answer first and work afterwards, or let it be told of fewer kinds of events. New events are sent as before.',
    'What was not sent is in the log of its deliveries (GET /webhooks/{id}/deliveries?status=failed), and can be replayed for 30 days.',
  ],
})

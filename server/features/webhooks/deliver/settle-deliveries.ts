import { together } from '../../../base/together.ts'
import { isConnectionLoss, type Queryable } from '../../../database/database.ts'
import type { WebhookKey } from '../webhook-queries.ts'
import type { CallOutcome } from './call-endpoint.ts'
import type { Due } from './next-deliveries.ts'
import type { Consequence } from './what-follows.ts'

export interface Attempted {
  due: Due
  outcome: CallOutcome
  follows: Consequence
}

/** How a webhook stands after what was settled. */
export interface Standing extends WebhookKey {
  consecutive_failures: number
}

const most = 500

/** Writes down what came of attempts: those that end while others are being written go together. Answers how the webhook stands, if it heard of it. */
export const createSettling = (db: Queryable): ((attempted: Attempted) => Promise<Standing | null>) =>
  together(
    async (batch) => {
      const standings = new Map((await settle(db, batch)).map((standing) => [standing.webhook_id, standing]))
      return batch.map(({ due }) => standings.get(due.webhook_id) ?? null)
    },
    { most, isOfAll: isConnectionLoss },
  )

/**
 * An attempt counts once: whoever made the same one meanwhile, because a lease had run out, finds it settled. A yes ends the row of failures,
 * so of those in one batch only the ones after the last yes count.
 */
const settle = (db: Queryable, batch: Attempted[]) => db.many<Standing>`
  with outcome as (
    select * from json_to_recordset(${JSON.stringify(batch.map(asRecord))}) as o (project_id uuid, webhook_id uuid, id uuid, number integer, attempt integer,
      status text, next_at timestamptz, counts text, http_status integer, duration_ms integer, error text, response_headers jsonb, response_body text,
      attempted_at timestamptz, answered_at timestamptz)
  ), settled as (
    update webhook_deliveries d set status = o.status, attempt = o.attempt + 1, next_at = o.next_at, http_status = o.http_status,
      duration_ms = o.duration_ms, error = o.error, response_headers = o.response_headers, response_body = o.response_body,
      attempted_at = o.attempted_at, delivered_at = case when o.status = 'delivered' then o.answered_at end
    from outcome o
    where d.project_id = o.project_id and d.webhook_id = o.webhook_id and d.id = o.id and d.status = 'pending' and d.attempt = o.attempt
    returning d.project_id, d.webhook_id, o.number, o.counts, o.answered_at
  ), yes as (
    select project_id, webhook_id, max(number) as last, max(answered_at) as at from settled where counts = 'delivered' group by 1, 2
  ), no as (
    select s.project_id, s.webhook_id, count(*) filter (where y.last is null or s.number > y.last) as failures, max(s.answered_at) as at
    from settled s left join yes y on y.project_id = s.project_id and y.webhook_id = s.webhook_id
    where s.counts = 'failed' group by 1, 2
  ), heard as (
    select project_id, webhook_id, y.at as delivered_at, n.at as failed_at, coalesce(n.failures, 0) as failures
    from yes y full join no n using (project_id, webhook_id)
  )
  update webhooks w set
    consecutive_failures = case when h.delivered_at is null then w.consecutive_failures else 0 end + h.failures,
    last_delivered_at = coalesce(h.delivered_at, w.last_delivered_at), last_failed_at = coalesce(h.failed_at, w.last_failed_at)
  from heard h where w.project_id = h.project_id and w.id = h.webhook_id
  returning w.project_id, w.id as webhook_id, w.consecutive_failures`

const asRecord = ({ due, outcome, follows }: Attempted, number: number) => ({
  project_id: due.project_id,
  webhook_id: due.webhook_id,
  id: due.id,
  number,
  attempt: due.attempt,
  status: follows.status,
  next_at: follows.next_at,
  counts: follows.counts,
  http_status: outcome.http_status,
  duration_ms: outcome.duration_ms,
  error: outcome.error,
  response_headers: outcome.response_headers,
  response_body: outcome.response_body,
  attempted_at: outcome.attempted_at,
  answered_at: new Date(outcome.attempted_at.getTime() + outcome.duration_ms),
})

import type { Queryable } from '../../../database/database.ts'
import type { WebhookDeliveryRow } from '../webhook.ts'
import type { WebhookKey } from '../webhook-queries.ts'

/** A delivery that may be sent now. */
export type Due = Pick<
  WebhookDeliveryRow,
  'project_id' | 'webhook_id' | 'id' | 'attempt' | 'event_project_id' | 'event_row_id' | 'item' | 'event_id' | 'event_type' | 'created_at'
>

export interface Look extends WebhookKey {
  /** First attempts after this one. */
  after: string
  most: number
}

/** What is due in several queues: second and third attempts whose time has come, then first ones in the order of their events. */
export const nextDeliveries = (db: Queryable, looks: Look[], now: Date) => db.many<Due>`
  select d.project_id, d.webhook_id, d.id, d.attempt, d.event_project_id, d.event_row_id, d.item, d.event_id, d.event_type, d.created_at
  from json_to_recordset(${JSON.stringify(looks)}) as l (project_id uuid, webhook_id uuid, after uuid, most integer)
  cross join lateral (
    (select a.*, 1 as turn from webhook_deliveries a
      where a.project_id = l.project_id and a.webhook_id = l.webhook_id and a.status = 'pending' and a.attempt > 0
        and a.next_at <= greatest(now(), ${now}::timestamptz)
      order by a.next_at, a.id limit l.most)
    union all
    (select f.*, 2 as turn from webhook_deliveries f
      where f.project_id = l.project_id and f.webhook_id = l.webhook_id and f.status = 'pending' and f.attempt = 0 and f.next_at is not null
        and f.id > l.after
      order by f.id limit l.most)
  ) d
  order by d.turn, case when d.turn = 1 then d.next_at end, d.id`

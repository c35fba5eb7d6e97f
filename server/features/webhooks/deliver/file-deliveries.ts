import type { ProjectId } from '../../../base/ids.ts'
import { wake } from '../../../base/wake.ts'
import type { Transaction } from '../../../database/database.ts'
import { type EventType, eventTypes } from '../../../events/catalogue.ts'
import type { Consumer } from '../../../events/consume.ts'
import type { EventRow } from '../../../events/expand-events.ts'
import { addedTo } from './queue-queries.ts'

/**
 * Turns events into deliveries, one for each active webhook that wants the type. A bulk row becomes as many deliveries as it holds
 * events, by their places alone: what they say is read when they are sent. `onFiled` hears how many there were.
 */
export const createDeliveryFiler = (onFiled: (count: number) => void = () => {}): Consumer => ({
  name: 'webhooks',
  types: eventTypes,
  readsData: false,
  begins: 'now',
  async handle(tx, rows) {
    const projects = [...new Set(rows.map(({ project_id }) => project_id))]
    const wanted = new Set((await findWanted(tx, projects)).map(wishOf))
    const told = rows.filter((row) => wanted.has(wishOf(row)))
    if (told.length === 0) return
    const filed = await fileDeliveries(tx, told)
    if (filed === 0) return
    tx.afterCommit(() => {
      onFiled(filed)
      wake('webhooks')
    })
  },
})

interface Wish {
  project_id: ProjectId
  type: EventType
}
const wishOf = ({ project_id, type }: Wish): string => `${project_id} ${type}`

const findWanted = (tx: Transaction, projects: ProjectId[]) => tx.many<Wish>`
  select distinct project_id, unnest(events) as type from webhooks where project_id = any(${projects}::uuid[]) and status = 'active'`

/**
 * Ids are UUIDv7 with 26 bits of a counter after the time, made by the database, because its clock is one for all: they stand in the order
 * of the events. The lock keeps a webhook from being deleted before its deliveries are there to be deleted with it.
 */
async function fileDeliveries(tx: Transaction, rows: EventRow[]): Promise<number> {
  const filed = await tx.first<{ count: number }>`
    with moment as materialized (select lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') as ms),
    told as (
      select e.project_id, e.id, e.type, e.item_count, e.items is not null as is_bulk, t.number
      from unnest(${rows.map(({ project_id }) => project_id)}::uuid[], ${rows.map(({ id }) => id)}::uuid[]) with ordinality as t (project_id, id, number)
      join events e on e.project_id = t.project_id and e.id = t.id
    ), wanting as materialized (
      select project_id, id, events from webhooks
      where project_id = any(${[...new Set(rows.map(({ project_id }) => project_id))]}::uuid[]) and status = 'active' order by project_id, id for key share
    ), pairs as materialized (
      select w.id as webhook_id, t.* from told t join wanting w on w.project_id = t.project_id and t.type = any(w.events)
    ), numbered as (
      select p.*, item, row_number() over (order by p.number, item, p.webhook_id) as place
      from pairs p cross join lateral generate_series(0, p.item_count - 1) as item
    ), filed as (
      insert into webhook_deliveries (project_id, webhook_id, id, event_project_id, event_row_id, item, event_id, event_type, next_at, created_at)
      select project_id, webhook_id,
        ((select ms from moment) || to_hex(28672 + (place >> 14)) || to_hex(32768 + (place & 16383)) || right(gen_random_uuid()::text, 12))::uuid,
        project_id, id, item, case when is_bulk then (left(id::text, 28) || lpad(to_hex(item), 8, '0'))::uuid else id end, type, ${tx.now}, ${tx.now}
      from numbered order by place
    ), queued as (
      insert into webhook_queues as q (project_id, webhook_id, due_at, filed)
      select distinct project_id, webhook_id, now(), 1 from pairs order by 1, 2
      on conflict (project_id, webhook_id) do update set ${addedTo}
    )
    select coalesce(sum(item_count), 0)::integer as count from pairs`
  return filed?.count ?? 0
}

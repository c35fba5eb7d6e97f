import type { Queryable, Transaction } from '../../database/database.ts'
import type { SubscriberStatus } from '../subscribers/subscriber.ts'
import type { ListKey } from './list-queries.ts'

/** How many more (or fewer) subscribers have each status. */
type CountChange = Partial<Record<SubscriberStatus, number>>

/**
 * Keeps the counters with the change itself, and with the day: whoever became active has subscribed. The slot follows the database session, so
 * that sessions writing to one list do not wait for each other. Call it last in the transaction: the rows are held until the commit.
 */
export const changeCounts = (
  tx: Transaction,
  key: ListKey,
  { active = 0, pending = 0, unsubscribed = 0, bounced = 0 }: CountChange,
) => tx.run`
  with counted as (
    insert into list_counters as c (project_id, list_id, slot, active, pending, unsubscribed, bounced)
    values (${key.project_id}, ${key.list_id}, pg_backend_pid() % 16, ${active}, ${pending}, ${unsubscribed}, ${bounced})
    on conflict (project_id, list_id, slot) do update set active = c.active + excluded.active, pending = c.pending + excluded.pending,
      unsubscribed = c.unsubscribed + excluded.unsubscribed, bounced = c.bounced + excluded.bounced
    returning project_id, list_id, slot
  )
  insert into list_days as d (project_id, list_id, day, slot, subscribed, unsubscribed, bounced, active)
  select project_id, list_id, (${tx.now}::timestamptz at time zone 'UTC')::date, slot, ${Math.max(active, 0)}::bigint, ${Math.max(unsubscribed, 0)}::bigint,
    ${Math.max(bounced, 0)}::bigint, ${active}::bigint
  from counted where ${active !== 0 || unsubscribed > 0 || bounced > 0}
  on conflict (project_id, list_id, day, slot) do update set subscribed = d.subscribed + excluded.subscribed,
    unsubscribed = d.unsubscribed + excluded.unsubscribed, bounced = d.bounced + excluded.bounced, active = d.active + excluded.active`

/** What a repair adds to the counters alone: nobody came or left. */
export const mendCounts = (tx: Transaction, key: ListKey, { active, pending, unsubscribed, bounced }: Required<CountChange>) => tx.run`
  insert into list_counters as c (project_id, list_id, slot, active, pending, unsubscribed, bounced)
  values (${key.project_id}, ${key.list_id}, 0, ${active}, ${pending}, ${unsubscribed}, ${bounced})
  on conflict (project_id, list_id, slot) do update set active = c.active + excluded.active, pending = c.pending + excluded.pending,
    unsubscribed = c.unsubscribed + excluded.unsubscribed, bounced = c.bounced + excluded.bounced`

/** Lists whose counters do not add up to their subscribers, with the difference. Empty is the proof. */
export const wrongCounts = (db: Queryable) => db.many<ListKey & { active: number; pending: number; unsubscribed: number; bounced: number }>`
  with counted as (
    select project_id, list_id, count(*) filter (where status = 'active') as active, count(*) filter (where status = 'pending') as pending,
      count(*) filter (where status = 'unsubscribed') as unsubscribed, count(*) filter (where status = 'bounced') as bounced
    from subscribers group by project_id, list_id),
  kept as (
    select project_id, list_id, sum(active) as active, sum(pending) as pending, sum(unsubscribed) as unsubscribed, sum(bounced) as bounced
    from list_counters group by project_id, list_id)
  select project_id, list_id,
    (coalesce(c.active, 0) - coalesce(k.active, 0))::bigint as active, (coalesce(c.pending, 0) - coalesce(k.pending, 0))::bigint as pending,
    (coalesce(c.unsubscribed, 0) - coalesce(k.unsubscribed, 0))::bigint as unsubscribed, (coalesce(c.bounced, 0) - coalesce(k.bounced, 0))::bigint as bounced
  from counted c full join kept k using (project_id, list_id)
  where (coalesce(c.active, 0), coalesce(c.pending, 0), coalesce(c.unsubscribed, 0), coalesce(c.bounced, 0))
    is distinct from (coalesce(k.active, 0), coalesce(k.pending, 0), coalesce(k.unsubscribed, 0), coalesce(k.bounced, 0))`

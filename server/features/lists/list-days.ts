import type { Queryable } from '../../database/database.ts'
import type { ListKey } from './list-queries.ts'

/** Lists whose days do not add up to their active subscribers, with the difference. Empty is the proof. */
export const wrongDays = (db: Queryable) => db.many<ListKey & { active: number }>`
  with kept as (select project_id, list_id, sum(active) as active from list_counters group by project_id, list_id),
  added as (select project_id, list_id, sum(active) as active from list_days group by project_id, list_id)
  select project_id, list_id, (coalesce(k.active, 0) - coalesce(a.active, 0))::bigint as active
  from kept k full join added a using (project_id, list_id)
  where coalesce(k.active, 0) <> coalesce(a.active, 0)`

/** To the day of the repair: on which day the others came or left, nobody knows any more. */
export const mendDay = (db: Queryable, { project_id, list_id, active }: ListKey & { active: number }, now: Date) => db.run`
  insert into list_days as d (project_id, list_id, day, slot, active)
  values (${project_id}, ${list_id}, (${now}::timestamptz at time zone 'UTC')::date, 0, ${active})
  on conflict (project_id, list_id, day, slot) do update set active = d.active + excluded.active`

/**
 * The slots of days that are over become one row each. Nobody writes to these any more: the one before yesterday is left alone, for
 * transactions and clocks that are late.
 */
export const foldDays = (db: Queryable, now: Date, most: number) => db.run`
  with old as (
    select project_id, list_id, day, slot from list_days
    where slot <> 0 and day < (${now}::timestamptz at time zone 'UTC')::date - 1 limit ${most}
  ), gone as (
    delete from list_days d using old
    where d.project_id = old.project_id and d.list_id = old.list_id and d.day = old.day and d.slot = old.slot returning d.*
  )
  insert into list_days as d (project_id, list_id, day, slot, subscribed, unsubscribed, bounced, active)
  select project_id, list_id, day, 0, sum(subscribed), sum(unsubscribed), sum(bounced), sum(active) from gone group by project_id, list_id, day
  on conflict (project_id, list_id, day, slot) do update set subscribed = d.subscribed + excluded.subscribed,
    unsubscribed = d.unsubscribed + excluded.unsubscribed, bounced = d.bounced + excluded.bounced, active = d.active + excluded.active`

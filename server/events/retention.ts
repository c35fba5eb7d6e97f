import type { Queryable } from '../database/database.ts'

/** Events are kept this long for whoever comes late, and longer while a consumer has not read them. */
const keptDays = 14
const chunk = 5_000

/** One piece of what is old and read by all. Answers how many rows went. */
export const pruneEvents = (db: Queryable, now: Date) => db.run`
  delete from events where (project_id, id) in (
    select e.project_id, e.id from events e
    where e.created_at < ${now}::timestamptz - make_interval(days => ${keptDays})
      and exists (select 1 from event_consumers)
      and not exists (select 1 from event_consumers c where (e.transaction_id, e.position) > (c.transaction_id, c.position))
    limit ${chunk})`

/** The feed shows 200 items; five times that is kept for each list. */
export const trimActivity = (db: Queryable) => db.run`
  delete from list_activity a using (
    select project_id, list_id, id, row_number() over (partition by project_id, list_id order by at desc, id desc) as place from list_activity
  ) ranked
  where ranked.place > 1000 and a.project_id = ranked.project_id and a.list_id = ranked.list_id and a.id = ranked.id`

export const pruneActivityHours = (db: Queryable, now: Date) => db.run`
  delete from list_activity_hours where hour < ${now}::timestamptz - interval '8 days'`

import type { Queryable } from '../database/database.ts'

/** Events are kept this long for whoever comes late, and longer while a consumer has not read them. */
const keptDays = 30
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
const keptItems = 1_000
const listsAtOnce = 200

/** Some lists at a time. What is too much of each is found at its place in the order, and nothing else is looked at. */
export async function trimActivity(db: Queryable): Promise<void> {
  for (let after: ListPlace | null = beforeAll; after !== null; ) {
    const lists: ListPlace[] = await db.many<ListPlace>`
      select project_id, id from lists where (project_id, id) > (${after.project_id}, ${after.id}) order by project_id, id limit ${listsAtOnce}`
    while ((await trimLists(db, lists)) > 0);
    after = lists.length === listsAtOnce ? (lists.at(-1) ?? null) : null
  }
}

interface ListPlace {
  project_id: string
  id: string
}
const beforeAll: ListPlace = { project_id: '00000000-0000-0000-0000-000000000000', id: '00000000-0000-0000-0000-000000000000' }

const trimLists = (db: Queryable, lists: ListPlace[]) => db.run`
  delete from list_activity a using
    unnest(${lists.map(({ project_id }) => project_id)}::uuid[], ${lists.map(({ id }) => id)}::uuid[]) as l (project_id, id)
    cross join lateral (
      select id from list_activity where project_id = l.project_id and list_id = l.id order by at desc, id desc offset ${keptItems} limit ${chunk}
    ) old
  where a.project_id = l.project_id and a.list_id = l.id and a.id = old.id`

export const pruneActivityHours = (db: Queryable, now: Date) => db.run`
  delete from list_activity_hours where hour < ${now}::timestamptz - interval '8 days'`

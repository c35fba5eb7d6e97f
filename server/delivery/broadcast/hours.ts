import { type Fragment, sql } from '../../database/sql.ts'

/**
 * When things happened to a broadcast: by the hour from the day it began until three days later, by the day after that. The change falls on
 * the end of a day, so that no hour's row is also a day's. All of UTC.
 *
 * A copy counts in the hour in which it was settled, by what is known of it now: one that bounces later moves within that hour.
 */
export const hourOf = (at: Fragment, broadcastBegan: Fragment): Fragment =>
  sql`date_trunc(case when ${at} < date_trunc('day', ${broadcastBegan}, 'UTC') + interval '4 days' then 'hour' else 'day' end, ${at}, 'UTC')`

/**
 * Adds `rows`: broadcast_id and hour with its key, and how many more. Whoever asks has changed the broadcasts in the same statement, and takes
 * `rows` from what that returned: so nobody else is at these hours, and no two wait for each other in a ring.
 */
export const addingToHours = (rows: Fragment): Fragment => sql`
  insert into broadcast_hours as h (project_id, broadcast_id, hour, list_id, delivered, bounced, complained, opened, clicked, unsubscribed)
  ${rows}
  on conflict (project_id, broadcast_id, hour) do update set delivered = h.delivered + excluded.delivered,
    bounced = h.bounced + excluded.bounced, complained = h.complained + excluded.complained, opened = h.opened + excluded.opened,
    clicked = h.clicked + excluded.clicked, unsubscribed = h.unsubscribed + excluded.unsubscribed`

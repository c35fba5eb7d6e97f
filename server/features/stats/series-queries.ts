import type { ListId, ProjectId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import { type Fragment, sql } from '../../database/sql.ts'
import type { Span } from './stats.ts'

/** One list, or all of the project. */
export interface Scope {
  project_id: ProjectId
  list_id: ListId | null
}

const inScope = ({ project_id, list_id }: Scope): Fragment =>
  list_id === null
    ? sql`project_id = ${project_id} and list_id in (select id from lists where project_id = ${project_id} and deleted_at is null)`
    : sql`project_id = ${project_id} and list_id = ${list_id}`

interface Growth {
  date: string
  subscribed: number
  unsubscribed: number
  bounced: number
  /** By how many the active ones grew. */
  active: number
}

export const sumDays = (db: Queryable, scope: Scope, { interval, from, until }: Span) => db.many<Growth>`
  select to_char(date_trunc(${interval}, day::timestamp), 'YYYY-MM-DD') as date, sum(subscribed)::bigint as subscribed,
    sum(unsubscribed)::bigint as unsubscribed, sum(bounced)::bigint as bounced, sum(active)::bigint as active
  from list_days where ${inScope(scope)} and day >= (${from}::timestamptz at time zone 'UTC')::date and day < (${until}::timestamptz at time zone 'UTC')::date
  group by 1`

/** How many were active when the span ended: those of now, without what the days since have added. */
export const activeAtEnd = async (db: Queryable, scope: Scope, { until }: Span): Promise<number> =>
  (
    await db.first<{ active: number }>`
    select ((select coalesce(sum(active), 0) from list_counters where ${inScope(scope)})
      - (select coalesce(sum(active), 0) from list_days where ${inScope(scope)} and day >= (${until}::timestamptz at time zone 'UTC')::date))::bigint as active`
  )?.active ?? 0

interface Mail {
  date: string
  sent: number
  delivered: number
  opened: number
  clicked: number
}

export const sumHours = (db: Queryable, scope: Scope, { interval, from, until }: Span) => db.many<Mail>`
  select to_char(date_trunc(${interval}, hour, 'UTC') at time zone 'UTC', 'YYYY-MM-DD') as date, greatest(0, sum(delivered + bounced))::bigint as sent,
    greatest(0, sum(delivered))::bigint as delivered, sum(opened)::bigint as opened, sum(clicked)::bigint as clicked
  from broadcast_hours where ${inScope(scope)} and hour >= ${from} and hour < ${until}
  group by 1`

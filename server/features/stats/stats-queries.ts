import type { BroadcastId, ListId, PostId, ProjectId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import type { PostStatsRow } from './stats.ts'

interface ListKey {
  project_id: ProjectId
  list_id: ListId
}

/** What broadcasts have booked and not sent yet is in the months already, and has not left. */
export const findProjectStats = async (db: Queryable, project_id: ProjectId) =>
  (await db.first<{ lists: number; active_subscribers: number; contacts: number; emails_sent: number }>`
    select (select count(*) from lists where project_id = ${project_id} and deleted_at is null) as lists,
      (select coalesce(sum(c.active), 0)::bigint from lists l join list_counters c on c.project_id = l.project_id and c.list_id = l.id
        where l.project_id = ${project_id} and l.deleted_at is null) as active_subscribers,
      (select coalesce(sum(contacts), 0)::bigint from project_counters where project_id = ${project_id}) as contacts,
      greatest(0, (select coalesce(sum(used), 0) from usage_periods where project_id = ${project_id})
        - (select coalesce(sum(greatest(0, booked - delivered - bounced - complained)), 0) from broadcasts
            where project_id = ${project_id} and reservation_id is not null))::bigint as emails_sent`)! // without a table there is always a row

export const countSubscribers = async (db: Queryable, { project_id, list_id }: ListKey) =>
  (await db.first<{ total: number; active: number; pending: number; unsubscribed: number; bounced: number }>`
    select coalesce(sum(active + pending + unsubscribed + bounced), 0)::bigint as total, coalesce(sum(active), 0)::bigint as active,
      coalesce(sum(pending), 0)::bigint as pending, coalesce(sum(unsubscribed), 0)::bigint as unsubscribed, coalesce(sum(bounced), 0)::bigint as bounced
    from list_counters where project_id = ${project_id} and list_id = ${list_id}`)! // an aggregate without groups always has one row

/** A row for each post, however many it went to. */
export const sumBroadcasts = async (db: Queryable, { project_id, list_id }: ListKey) =>
  (await db.first<Record<'total_sent' | 'total_delivered' | 'total_opened' | 'total_clicked' | 'total_bounced', number>>`
    select coalesce(sum(delivered + complained + bounced), 0)::bigint as total_sent, coalesce(sum(delivered + complained), 0)::bigint as total_delivered,
      coalesce(sum(opened), 0)::bigint as total_opened, coalesce(sum(clicked), 0)::bigint as total_clicked, coalesce(sum(bounced), 0)::bigint as total_bounced
    from broadcasts where project_id = ${project_id} and list_id = ${list_id}`)! // as above

const postStats = sql`
  select p.id as post_id, p.subject, p.sent_at, p.broadcast_id, coalesce(b.recipients, 0) as recipients,
    coalesce(b.delivered + b.complained, 0) as delivered, coalesce(b.bounced, 0) as bounced, coalesce(b.failed, 0) as failed,
    coalesce(b.opened, 0) as opened, coalesce(b.clicked, 0) as clicked, coalesce(b.complained, 0) as complained,
    coalesce(b.unsubscribed, 0) as unsubscribed, b.created_at as began_at
  from posts p
  join lists l on l.project_id = p.project_id and l.id = p.list_id and l.deleted_at is null
  left join broadcasts b on b.project_id = p.project_id and b.id = p.broadcast_id`

export interface PostStatsPlace extends PostStatsRow {
  broadcast_id: BroadcastId | null
  began_at: Date | null
}

export const findPostStats = (db: Queryable, { project_id, list_id, post_id }: ListKey & { post_id: PostId }) => db.first<PostStatsPlace>`
  ${postStats} where p.project_id = ${project_id} and p.list_id = ${list_id} and p.id = ${post_id}`

interface PostFilter extends ListKey {
  after: string | null
  limit: number
}

/** Those that were sent, or are being sent; newest first. */
export const pagePostStats = (db: Queryable, { project_id, list_id, after, limit }: PostFilter) => db.many<PostStatsPlace>`
  ${postStats} where p.project_id = ${project_id} and p.list_id = ${list_id} and p.broadcast_id is not null
    ${after === null ? nothing : sql`and p.id < ${after}`}
  order by p.id desc limit ${limit}`

export interface HourRow {
  hour: Date
  delivered: number
  opened: number
  clicked: number
}

export const findHours = (
  db: Queryable,
  { project_id, broadcast_id, until }: { project_id: ProjectId; broadcast_id: BroadcastId; until: Date },
) =>
  db.many<HourRow>`
    select hour, greatest(0, delivered) as delivered, opened, clicked from broadcast_hours
    where project_id = ${project_id} and broadcast_id = ${broadcast_id} and hour < ${until} order by hour`

export const findLinks = (
  db: Queryable,
  { project_id, broadcast_id, limit }: { project_id: ProjectId; broadcast_id: BroadcastId; limit: number },
) => db.many<{
  url: string
  clicks: number
  unique_clicks: number
}>`
  select url, clicks, unique_clicks from broadcast_links where project_id = ${project_id} and broadcast_id = ${broadcast_id}
  order by clicks desc, number limit ${limit}`

import { type EventId, type Id, type IdPrefix, type ListId, type PostId, type ProjectId, parseId, type SubscriberId } from '../base/ids.ts'
import type { Database, Queryable, Transaction } from '../database/database.ts'
import type { EventType } from './catalogue.ts'
import { type Consumer, catchUp } from './consume.ts'
import { type EventRow, eventsOf, type PublishedEvent } from './expand-events.ts'

/**
 * The activity feed of a list: a consumer that keeps the newest items and counts by the hour, and the two queries that read them.
 * The feed shows 200 items at most, so no batch leaves more than that: a million imported subscribers are one number and 200 lines.
 */
interface ActivityRow {
  id: EventId
  type: string
  at: Date
  email: string | null
  subject: string | null
  post_id: PostId | null
  subscriber_id: SubscriberId | null
  email_id: Id<'eml'> | null
  message_id: string | null
}
interface FiledRow extends ActivityRow {
  project_id: ProjectId
  list_id: ListId
}
interface ListKey {
  project_id: ProjectId
  list_id: ListId
}

const feedLimit = 200

const shown: EventType[] = [
  'subscriber.created',
  'subscriber.confirmed',
  'subscriber.unsubscribed',
  'subscriber.deleted',
  'post.created',
  'post.sent',
  'post.delivered',
  'post.paused',
  'post.resumed',
  'post.cancelled',
  'email.replied',
  'email.bounced',
  'email.complained',
]

type WeekCount = 'subscribed' | 'unsubscribed' | 'replies'

/** What an event counts as. Somebody who must still confirm has not subscribed yet. */
function weekCountOf({ type, data }: PublishedEvent): WeekCount | null {
  if (type === 'subscriber.confirmed') return 'subscribed'
  if (type === 'subscriber.created') return (data.subscriber as { status?: string }).status === 'active' ? 'subscribed' : null
  if (type === 'subscriber.unsubscribed') return 'unsubscribed'
  return type === 'email.replied' ? 'replies' : null
}

export const activityConsumer: Consumer = {
  name: 'activity',
  types: shown,
  async handle(tx, rows) {
    // The events of one row differ in whom they are about, never in the list: the newest tells the row's list and what it counts as.
    const filed = rows.flatMap((row) => {
      const newest = eventsOf(row, 1)[0]
      return newest && typeof newest.data.list_id === 'string' ? [{ row, newest }] : []
    })
    for (const ofList of Map.groupBy(filed, ({ newest }) => newest.data.list_id).values()) {
      if (!(await isStillThere(tx, toRow(ofList[0]!.newest)))) continue // a group has at least one
      const items = ofList.slice(-feedLimit).flatMap(({ row }) => eventsOf(row, feedLimit))
      await insertItems(tx, items.slice(-feedLimit).map(toRow))
      await addCounts(tx, ofList)
    }
  },
}

/** A list that was purged meanwhile must not come back as rows. The lock lets a deletion, and its purge, come after what is filed here. */
const isStillThere = async (tx: Transaction, key: ListKey): Promise<boolean> =>
  (await tx.first`select 1 from lists where project_id = ${key.project_id} and id = ${key.list_id} and deleted_at is null for share`) !==
  null

/** Files what has been published so far, so that the feed shows it. */
export const consumeActivity = (database: Database): Promise<void> => catchUp(database, activityConsumer)

function toRow({ id, project_id, type, created_at, data }: PublishedEvent): FiledRow {
  const idIn = <Prefix extends IdPrefix>(prefix: Prefix, field: string) =>
    typeof data[field] === 'string' ? parseId(prefix, data[field]) : null
  const subscriber = data.subscriber as { email?: string | null } | undefined
  return {
    project_id,
    list_id: idIn('lst', 'list_id') as ListId,
    id,
    type,
    at: created_at,
    // Of a mail that bounced or was complained of, the person is whom it went to.
    email: subscriber?.email ?? ((type === 'email.replied' ? data.from : data.to) as string | undefined) ?? null,
    subject: (data.subject as string | undefined) ?? null,
    post_id: idIn('post', 'post_id'),
    subscriber_id: idIn('sub', 'subscriber_id'),
    email_id: idIn('eml', 'email_id'),
    message_id: (data.message_id as string | undefined) ?? null,
  }
}

const insertItems = (tx: Transaction, rows: FiledRow[]) => tx.run`
  insert into list_activity (project_id, list_id, id, type, at, email, subject, post_id, subscriber_id, email_id, message_id)
  select * from json_to_recordset(${JSON.stringify(rows)}) as item (project_id uuid, list_id uuid, id uuid, type text, at timestamptz,
    email text, subject text, post_id uuid, subscriber_id uuid, email_id uuid, message_id text)
  on conflict do nothing`

async function addCounts(tx: Transaction, filed: { row: EventRow; newest: PublishedEvent }[]): Promise<void> {
  for (const [hour, ofHour] of Map.groupBy(filed, ({ row }) => new Date(row.created_at).setUTCMinutes(0, 0, 0))) {
    const counts: Record<WeekCount, number> = { subscribed: 0, unsubscribed: 0, replies: 0 }
    for (const { row, newest } of ofHour) {
      const counted = weekCountOf(newest)
      if (counted) counts[counted] += row.item_count
    }
    if (counts.subscribed + counts.unsubscribed + counts.replies === 0) continue
    const { project_id, list_id } = toRow(ofHour[0]!.newest) // a group has at least one
    await tx.run`
      insert into list_activity_hours as h (project_id, list_id, hour, subscribed, unsubscribed, replies)
      values (${project_id}, ${list_id}, ${new Date(hour)}, ${counts.subscribed}, ${counts.unsubscribed}, ${counts.replies})
      on conflict (project_id, list_id, hour) do update set subscribed = h.subscribed + excluded.subscribed,
        unsubscribed = h.unsubscribed + excluded.unsubscribed, replies = h.replies + excluded.replies`
  }
}

export const activityFeed = (db: Queryable, key: ListKey, limit: number) => db.many<ActivityRow>`
  select id, type, at, email, subject, post_id, subscriber_id, email_id, message_id from list_activity
  where project_id = ${key.project_id} and list_id = ${key.list_id}
  order by at desc, id desc limit ${limit}`

/** At most 169 rows, whatever happened. */
export async function activityWeek(db: Queryable, key: ListKey, now: Date): Promise<Record<WeekCount, number>> {
  const week = await db.first<Record<WeekCount, number>>`
    select coalesce(sum(subscribed), 0)::bigint as subscribed, coalesce(sum(unsubscribed), 0)::bigint as unsubscribed, coalesce(sum(replies), 0)::bigint as replies
    from list_activity_hours
    where project_id = ${key.project_id} and list_id = ${key.list_id} and hour > ${now}::timestamptz - interval '7 days'`
  return week! // an aggregate without groups always has one row
}

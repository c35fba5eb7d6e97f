import { type EventId, type Id, type IdPrefix, type ListId, type PostId, type ProjectId, parseId, type SubscriberId } from '../base/ids.ts'
import type { Database, Queryable, Transaction } from '../database/database.ts'
import type { EventType } from './catalogue.ts'
import { type Consumer, catchUp } from './consume.ts'
import { type EventRow, eventsOf, type PublishedEvent } from './expand-events.ts'
import { findHomes } from './homes.ts'

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

/** A row of the outbox that belongs into a feed. */
interface Filed {
  row: EventRow
  newest: PublishedEvent
  /** Where the list is: a merge may have moved it since. */
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
    const filed = rows.flatMap((row): Filed[] => {
      const newest = eventsOf(row, 1)[0]
      return newest && typeof newest.data.list_id === 'string'
        ? [{ row, newest, project_id: row.project_id, list_id: parseId('lst', newest.data.list_id) as ListId }]
        : []
    })
    const known = await withList(tx, filed)
    if (known.length === 0) return false
    await insertItems(tx, [...Map.groupBy(known, keyOf).values()].flatMap(newestItems))
    await addCounts(tx, known)
    return true
  },
}

const keyOf = ({ project_id, list_id }: ListKey): string => `${project_id} ${list_id}`

/** Those whose list is there: where the event happened, or where a merge took it. */
async function withList(tx: Transaction, filed: Filed[]): Promise<Filed[]> {
  const { there, missing } = await sortOut(tx, filed)
  if (missing.length === 0) return there
  const homes = await findHomes(
    tx,
    missing.map(({ project_id }) => project_id),
  )
  const moved = missing.flatMap((one) => {
    const home = homes.get(one.project_id)
    return home ? [{ ...one, project_id: home }] : []
  })
  return moved.length === 0 ? there : [...there, ...(await sortOut(tx, moved)).there]
}

async function sortOut(tx: Transaction, filed: Filed[]): Promise<{ there: Filed[]; missing: Filed[] }> {
  const held = filed.length === 0 ? [] : await holdLists(tx, filed)
  const keys = new Set(held.map(({ project_id, id }) => keyOf({ project_id, list_id: id })))
  const { there = [], missing = [] } = Object.groupBy(filed, (one) => (keys.has(keyOf(one)) ? 'there' : 'missing'))
  return { there, missing }
}

/** A list that was purged meanwhile must not come back as rows. The lock lets a deletion, and its purge, come after what is filed here. */
const holdLists = (tx: Transaction, filed: Filed[]) => tx.many<{ project_id: ProjectId; id: ListId }>`
  select l.project_id, l.id from lists l
  where (l.project_id, l.id) in (
      select * from unnest(${filed.map(({ project_id }) => project_id)}::uuid[], ${filed.map(({ list_id }) => list_id)}::uuid[]))
    and l.deleted_at is null
  order by l.project_id, l.id for share`

/** Rows come in the order of their commits, and the feed shows them in the order of their times: a long import is older than it seems. */
function newestItems(ofList: Filed[]): FiledRow[] {
  const byTime = ofList.toSorted((a, b) => a.row.created_at.getTime() - b.row.created_at.getTime() || (a.row.id < b.row.id ? -1 : 1))
  const items = byTime.slice(-feedLimit).flatMap(({ row, project_id }) => eventsOf({ ...row, project_id }, feedLimit))
  return items.slice(-feedLimit).map(toRow)
}

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
    // The mail in the inbox, which only a reply has: a copy of a post that bounced is in none.
    email_id: type === 'email.replied' ? idIn('eml', 'email_id') : null,
    message_id: type === 'email.replied' ? ((data.message_id as string | undefined) ?? null) : null,
  }
}

const insertItems = (tx: Transaction, rows: FiledRow[]) => tx.run`
  insert into list_activity (project_id, list_id, id, type, at, email, subject, post_id, subscriber_id, email_id, message_id)
  select * from json_to_recordset(${JSON.stringify(rows)}) as item (project_id uuid, list_id uuid, id uuid, type text, at timestamptz,
    email text, subject text, post_id uuid, subscriber_id uuid, email_id uuid, message_id text)
  on conflict do nothing`

async function addCounts(tx: Transaction, filed: Filed[]): Promise<void> {
  const counted = filed.flatMap(({ row, newest, project_id, list_id }) => {
    const what = weekCountOf(newest)
    return what ? [{ project_id, list_id, at: row.created_at, [what]: row.item_count }] : []
  })
  if (counted.length === 0) return
  await tx.run`
    insert into list_activity_hours as h (project_id, list_id, hour, subscribed, unsubscribed, replies)
    select project_id, list_id, date_trunc('hour', at, 'UTC') as hour, coalesce(sum(subscribed), 0), coalesce(sum(unsubscribed), 0), coalesce(sum(replies), 0)
    from json_to_recordset(${JSON.stringify(counted)}) as counted (project_id uuid, list_id uuid, at timestamptz, subscribed bigint, unsubscribed bigint, replies bigint)
    group by project_id, list_id, hour order by project_id, list_id, hour
    on conflict (project_id, list_id, hour) do update set subscribed = h.subscribed + excluded.subscribed,
      unsubscribed = h.unsubscribed + excluded.unsubscribed, replies = h.replies + excluded.replies`
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

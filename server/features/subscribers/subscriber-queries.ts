import { type ContactId, type ListId, newId, type ProjectId, type SubscriberId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { matches } from '../../database/search.ts'
import { nothing, sql } from '../../database/sql.ts'
import type { SubscriberRow, SubscriberStatus } from './subscriber.ts'

export interface SubscriberKey {
  project_id: ProjectId
  list_id: ListId
  subscriber_id: SubscriberId
}

export const findSubscriber = (db: Queryable, key: SubscriberKey) => db.first<SubscriberRow>`
  select * from subscribers where project_id = ${key.project_id} and list_id = ${key.list_id} and id = ${key.subscriber_id}`

export const lockSubscriber = (tx: Transaction, key: SubscriberKey) => tx.first<SubscriberRow>`
  select * from subscribers where project_id = ${key.project_id} and list_id = ${key.list_id} and id = ${key.subscriber_id} for update`

export const lockSubscriberByEmail = (
  tx: Transaction,
  key: { project_id: ProjectId; list_id: ListId; email_key: string },
) => tx.first<SubscriberRow>`
  select * from subscribers where project_id = ${key.project_id} and list_id = ${key.list_id} and email_key = ${key.email_key} for update`

/** By the person: an agent has no address to be found by. */
export const lockSubscriberOfContact = (
  tx: Transaction,
  key: { project_id: ProjectId; list_id: ListId; contact_id: ContactId },
) => tx.first<SubscriberRow>`
  select * from subscribers where project_id = ${key.project_id} and list_id = ${key.list_id} and contact_id = ${key.contact_id}
  order by id limit 1 for update`

interface NewSubscriber {
  project_id: ProjectId
  list_id: ListId
  contact_id: ContactId
  /** An agent has none. */
  email: string | null
  email_key: string | null
  name: string | null
  status: 'active' | 'pending'
  source: string
}

/** Null when the address is on the list already. Waits for whoever is adding it at this moment. */
export const insertSubscriber = (tx: Transaction, subscriber: NewSubscriber) => tx.first<SubscriberRow>`
  insert into subscribers (project_id, list_id, id, contact_id, email, email_key, name, status, source, subscribed_at, created_at)
  values (${subscriber.project_id}, ${subscriber.list_id}, ${newId<'sub'>()}, ${subscriber.contact_id}, ${subscriber.email}, ${subscriber.email_key},
    ${subscriber.name}, ${subscriber.status}, ${subscriber.source}, ${subscriber.status === 'active' ? tx.now : null}, ${tx.now})
  on conflict (project_id, list_id, email_key) do nothing
  returning *`

/**
 * Who becomes active gets a new number: what was sent before is not for them. Who is asked to confirm once more left when they did: asking
 * and leaving again is no new leaving, which could be undone.
 */
export const saveSubscriber = (tx: Transaction, subscriber: SubscriberRow) => tx.first<SubscriberRow>`
  update subscribers set name = ${subscriber.name}, status = ${subscriber.status}, subscribed_at = ${subscriber.subscribed_at},
    unsubscribed_at = case ${subscriber.status} when 'unsubscribed' then coalesce(unsubscribed_at, ${tx.now}) when 'pending' then unsubscribed_at end,
    unsubscribe_reason = case when ${subscriber.status} = 'unsubscribed' then unsubscribe_reason end,
    paused_until = case when ${subscriber.status} = status then paused_until end,
    activation = case when ${subscriber.status} = 'active' and status <> 'active' then nextval('activations') else activation end
  where project_id = ${subscriber.project_id} and list_id = ${subscriber.list_id} and id = ${subscriber.id}
  returning *`

/** Only of who has left. */
export const saveReason = (tx: Transaction, key: SubscriberKey, reason: string) => tx.run`
  update subscribers set unsubscribe_reason = ${reason}
  where project_id = ${key.project_id} and list_id = ${key.list_id} and id = ${key.subscriber_id} and status = 'unsubscribed'`

/** Who is on the list and gets no post that is sent at this moment. */
export async function countPaused(db: Queryable, key: { project_id: ProjectId; list_id: ListId }, now: Date): Promise<number> {
  const counted = await db.first<{ count: number }>`
    select count(*) as count from subscribers
    where project_id = ${key.project_id} and list_id = ${key.list_id} and status = 'active' and paused_until > ${now} and email is not null`
  return counted?.count ?? 0
}

export const deleteSubscriberRow = (tx: Transaction, key: SubscriberKey) => tx.run`
  delete from subscribers where project_id = ${key.project_id} and list_id = ${key.list_id} and id = ${key.subscriber_id}`

interface SubscriberFilter {
  project_id: ProjectId
  list_id: ListId
  status?: SubscriberStatus | undefined
  search?: string | undefined
  /** The last id of the page before. */
  after: string | null
  limit: number
}

/** Newest first. Every page costs the same: it starts where the one before ended, by key. */
export const pageSubscribers = (db: Queryable, filter: SubscriberFilter) => db.many<SubscriberRow>`
  select s.* from subscribers s
  where s.project_id = ${filter.project_id} and s.list_id = ${filter.list_id}
    ${filter.status === undefined ? nothing : sql`and s.status = ${filter.status}`}
    ${filter.after === null ? nothing : sql`and s.id < ${filter.after}`}
    ${filter.search === undefined ? nothing : matching(filter.project_id, filter.search)}
  order by s.id desc limit ${filter.limit}`

/** People are searched where they are indexed: among the contacts. */
const matching = (project_id: ProjectId, search: string) => sql`
  and s.contact_id in (select c.id from contacts c where c.project_id = ${project_id} and ${matches(sql`c.search_text`, search)})`

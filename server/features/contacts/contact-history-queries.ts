import type { ContactId, DeliveryId, EmailId, ListId, MessageId, PostId, ProjectId, SubscriberId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import type { ListRow } from '../lists/index.ts'
// The shape alone: the index of that feature imports this one.
import type { SubscriberStatus } from '../subscribers/subscriber.ts'

export interface ContactKey {
  project_id: ProjectId
  contact_id: ContactId
}

interface MembershipRow {
  subscriber_id: SubscriberId
  list_id: ListId
  name: string
  subdomain: string
  type: ListRow['type']
  status: SubscriberStatus
  subscribed_at: Date | null
}

/** Newest first, after the subscriber `after`. A deleted list is out of sight at once; its subscribers go in the background. */
export const pageMemberships = (db: Queryable, key: ContactKey, after: string | null, limit: number) => db.many<MembershipRow>`
  select s.id as subscriber_id, s.list_id, l.name, l.subdomain, l.type, s.status, s.subscribed_at
  from subscribers s join lists l on l.project_id = s.project_id and l.id = s.list_id
  where s.project_id = ${key.project_id} and s.contact_id = ${key.contact_id} and l.deleted_at is null
    ${after === null ? nothing : sql`and s.id < ${after}`}
  order by s.id desc limit ${limit}`

interface ActivityRow {
  kind: string
  at: Date
  subject: string
}

/** With the key of their address, which mail from mailboxes is known by. */
export type AddressedKey = ContactKey & { email_key: string | null }

/**
 * Newest first. Subscriptions keep the times of their steps: whoever was active from the first moment had nothing to confirm. Of mail, the
 * last `limit` letters of each kind are looked at, so that somebody who gets many costs no more than anybody else.
 */
export const contactActivity = (db: Queryable, key: AddressedKey, limit: number) => db.many<ActivityRow>`
  select kind, at, subject from (${subscriptionSteps(key)} union all ${postSteps(key, limit)} union all ${letters(key, limit)}) steps
  order by at desc, step desc limit ${limit}`

const subscriptionSteps = (key: ContactKey) => sql`
  select step.kind, step.at, l.name as subject, s.id::text || step.number as step
  from subscribers s join lists l on l.project_id = s.project_id and l.id = s.list_id
  cross join lateral (values
    (1, 'subscriber.created', s.created_at),
    (2, 'subscriber.confirmed', nullif(s.subscribed_at, s.created_at)),
    (3, 'subscriber.unsubscribed', s.unsubscribed_at)) as step (number, kind, at)
  where s.project_id = ${key.project_id} and s.contact_id = ${key.contact_id} and l.deleted_at is null and step.at is not null`

const postSteps = (key: ContactKey, limit: number) => sql`
  select step.kind, step.at, coalesce(p.subject, ''), d.id::text || step.number
  from (select * from deliveries where project_id = ${key.project_id} and contact_id = ${key.contact_id} order by id desc limit ${limit}) d
  join broadcasts b on b.project_id = d.project_id and b.id = d.broadcast_id
  left join posts p on p.project_id = b.project_id and p.list_id = b.list_id and p.id = b.post_id
  cross join lateral (values
    (1, 'email.delivered', case when d.status in ('delivered', 'complained') then d.sent_at end),
    (2, 'email.opened', d.opened_at),
    (3, 'email.clicked', d.clicked_at),
    (4, 'email.bounced', case when d.status = 'bounced' then d.settled_at end),
    (5, 'email.complained', case when d.status = 'complained' then d.settled_at end)) as step (number, kind, at)
  where step.at is not null`

/** Mail from mailboxes to them, and from them. */
const letters = (key: AddressedKey, limit: number) => sql`
  (select case e.status when 'bounced' then 'email.bounced' else 'email.delivered' end, e.created_at, coalesce(e.subject, ''), e.id::text
  from emails e where e.project_id = ${key.project_id} and e.to_key = ${key.email_key} and e.direction = 'outbound' and e.status not in ('sending', 'failed')
  order by e.id desc limit ${limit})
  union all
  (select case when e.is_reply then 'email.replied' else 'email.received' end, coalesce(e.received_at, e.created_at), coalesce(e.subject, ''), e.id::text
  from emails e where e.project_id = ${key.project_id} and e.contact_id = ${key.contact_id} and e.direction = 'inbound'
  order by e.id desc limit ${limit})`

interface EmailRow {
  /** A mail of the program's own, the delivery of a post, or a mail from a mailbox. */
  kind: 'msg' | 'dlv' | 'eml'
  id: MessageId | DeliveryId | EmailId
  post_id: PostId | null
  subject: string
  list_name: string
  list_id: ListId | null
  sent_at: Date
  status: 'queued' | 'sending' | 'sent' | 'delivered' | 'bounced' | 'failed' | 'complained'
  open_count: number
  click_count: number
}

/**
 * Newest first, after the letter `after`. Ids of all kinds follow the time that they were made at. Single messages belong to no post,
 * and nobody tracks them. Mail of a list that is gone was still sent, and what was answered or put away did arrive.
 */
export const pageEmails = (db: Queryable, key: AddressedKey, after: string | null, limit: number) => db.many<EmailRow>`
  (select 'msg' as kind, m.id, null as post_id, m.mail ->> 'subject' as subject, coalesce(l.name, '') as list_name, m.list_id,
    coalesce(m.settled_at, m.created_at) as sent_at, m.status, 0 as open_count, 0 as click_count
  from messages m left join lists l on l.project_id = m.project_id and l.id = m.list_id
  where m.project_id = ${key.project_id} and m.recipient_key = ${key.email_key} ${after === null ? nothing : sql`and m.id < ${after}`}
  order by m.id desc limit ${limit})
  union all
  (select 'dlv', d.id, b.post_id, coalesce(p.subject, ''), coalesce(l.name, ''), b.list_id,
    coalesce(d.settled_at, b.created_at), d.status, d.open_count, d.click_count
  from deliveries d join broadcasts b on b.project_id = d.project_id and b.id = d.broadcast_id
  left join posts p on p.project_id = b.project_id and p.list_id = b.list_id and p.id = b.post_id
  left join lists l on l.project_id = b.project_id and l.id = b.list_id
  where d.project_id = ${key.project_id} and d.contact_id = ${key.contact_id} ${after === null ? nothing : sql`and d.id < ${after}`}
  order by d.id desc limit ${limit})
  union all
  (select 'eml', e.id, null, coalesce(e.subject, ''), '', null, e.created_at,
    case when e.status in ('sending', 'sent', 'delivered', 'bounced', 'failed', 'complained') then e.status else 'delivered' end, 0, 0
  from emails e
  where e.project_id = ${key.project_id} and e.to_key = ${key.email_key} and e.direction = 'outbound' ${after === null ? nothing : sql`and e.id < ${after}`}
  order by e.id desc limit ${limit})
  order by id desc limit ${limit}`

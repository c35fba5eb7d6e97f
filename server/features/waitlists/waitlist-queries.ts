import type { SubscriberId, UserId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import type { ListKey } from '../lists/index.ts'

/** Whether a human answers for this agent. */
export const isClaimed = async (db: Queryable, agent_id: UserId): Promise<boolean> =>
  (await db.first`select 1 from agent_registrations where user_id = ${agent_id} and claimed_at is not null limit 1`) !== null

const dayMs = 24 * 3_600_000

/**
 * How many places are taken: who has confirmed, and who may still do so. Who has not done so for a day keeps their place in the line, but
 * no longer one of the places that there are, and an agent that no human has claimed never has one: a stranger could fill the list for good
 * otherwise.
 */
export async function countTaken(db: Queryable, key: ListKey, now: Date): Promise<number> {
  const counted = await db.first<{ taken: number }>`
    select coalesce((select confirmed from waitlist_lines where project_id = ${key.project_id} and list_id = ${key.list_id}), 0) + (
      select count(*) from waitlist_entries
      where project_id = ${key.project_id} and list_id = ${key.list_id} and status = 'waiting' and not is_confirmed
        and joined_at > ${new Date(now.getTime() - dayMs)}
    ) - (
      select count(*) from waitlist_entries
      where project_id = ${key.project_id} and list_id = ${key.list_id} and status = 'waiting' and not takes_place
    ) as taken`
  return counted?.taken ?? 0
}

export interface ReferrerRow {
  id: SubscriberId
  label: string
  referral_count: number
}

export const topReferrers = (db: Queryable, key: ListKey, limit: number) => db.many<ReferrerRow>`
  select e.subscriber_id as id, coalesce(nullif(s.name, ''), s.email, 'Agent') as label, e.referral_count
  from waitlist_entries e join subscribers s on s.project_id = e.project_id and s.list_id = e.list_id and s.id = e.subscriber_id
  where e.project_id = ${key.project_id} and e.list_id = ${key.list_id} and e.referral_count > 0 and not e.has_left
  order by e.referral_count desc, e.subscriber_id limit ${limit}`

export const setAccepted = (tx: Transaction, key: ListKey & { subscriber_id: SubscriberId }) => tx.run`
  update waitlist_entries set status = 'accepted', accepted_at = ${tx.now}, is_mail_due = false
  where project_id = ${key.project_id} and list_id = ${key.list_id} and subscriber_id = ${key.subscriber_id} and status = 'invited'`

export interface DueMail {
  id: SubscriberId
  email: string | null
  email_key: string | null
}

/** Whom the next mails are for, in the order of the line; from now on they are somebody's to queue. */
export const takeDueMail = (tx: Transaction, key: ListKey, limit: number) => tx.many<DueMail>`
  with due as (
    select subscriber_id from waitlist_entries where project_id = ${key.project_id} and list_id = ${key.list_id} and is_mail_due
    order by place limit ${limit} for update skip locked
  ), taken as (
    update waitlist_entries e set is_mail_due = false from due
    where e.project_id = ${key.project_id} and e.list_id = ${key.list_id} and e.subscriber_id = due.subscriber_id
    returning e.subscriber_id
  )
  select s.id, case when s.status = 'active' then s.email end as email, s.email_key from taken join subscribers s
    on s.project_id = ${key.project_id} and s.list_id = ${key.list_id} and s.id = taken.subscriber_id
  order by s.id`

export const linesWithDueMail = (db: Queryable) => db.many<ListKey>`
  select distinct project_id, list_id from waitlist_entries where is_mail_due`

export const countAddresses = async (tx: Transaction, key: ListKey, ids: SubscriberId[]): Promise<number> =>
  (
    await tx.first<{ count: number }>`
      select count(*) as count from subscribers
      where project_id = ${key.project_id} and list_id = ${key.list_id} and id = any(${ids}::uuid[]) and email is not null`
  )?.count ?? 0

/** Waitlists, as the nightly repair looks at them. */
export const waitlists = (db: Queryable) => db.many<ListKey>`
  select project_id, id as list_id from lists where type = 'waitlist' and deleted_at is null`

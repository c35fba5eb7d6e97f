import type { ContactId, ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import type { SubscriberKey } from '../subscribers/index.ts'

/** Somebody whom mail went to, by the address. Who is no contact is on no list. */
export interface AddresseeKey {
  project_id: ProjectId
  contact_id: ContactId | null
  email_key: string
}

export const findContactByAddress = (db: Queryable, project_id: ProjectId, email_key: string) => db.first<{ id: ContactId }>`
  select id from contacts where project_id = ${project_id} and email_key = ${email_key}`

/** On whichever lists of the project; those that they have left are none. */
export const findSubscriptions = (db: Queryable, { project_id, contact_id, email_key }: AddresseeKey) => db.many<SubscriberKey>`
  select project_id, list_id, id as subscriber_id from subscribers
  where project_id = ${project_id} and contact_id = ${contact_id} and email_key = ${email_key} and status in ('active', 'pending')
  order by list_id, id`

/**
 * `day` as 2026-11-02. Answers the days of the last `windowDays`, this one included; none for who is no contact. What comes back late of an
 * address that they have no more says nothing of the one that they have.
 */
export async function noteSoftDay(
  tx: Transaction,
  { project_id, contact_id, email_key }: AddresseeKey,
  { day, windowDays }: { day: string; windowDays: number },
): Promise<string[]> {
  const noted = await tx.first<{ days: string[] }>`
    update contacts set soft_bounced_on = array(
      select distinct day from unnest(soft_bounced_on || ${day}::date) as day where day > ${day}::date - ${windowDays}::integer order by day)
    where project_id = ${project_id} and id = ${contact_id} and email_key = ${email_key}
    returning soft_bounced_on::text[] as days`
  return noted?.days ?? []
}

/** The days on which single mails to the address bounced softly. */
export async function softDaysOfEmails(
  db: Queryable,
  { project_id, email_key }: AddresseeKey,
  { day, windowDays }: { day: string; windowDays: number },
): Promise<string[]> {
  const rows = await db.many<{ day: string }>`
    select distinct (updated_at at time zone 'UTC')::date::text as day from emails
    where project_id = ${project_id} and to_key = ${email_key} and is_soft_bounce and updated_at > ${day}::date - ${windowDays}::integer`
  return rows.map((row) => row.day)
}

export async function forgetSoftDays(tx: Transaction, { project_id, contact_id, email_key }: AddresseeKey): Promise<void> {
  await tx.run`update contacts set soft_bounced_on = '{}' where project_id = ${project_id} and id = ${contact_id} and soft_bounced_on <> '{}'`
  await tx.run`update emails set is_soft_bounce = false where project_id = ${project_id} and to_key = ${email_key} and is_soft_bounce`
}

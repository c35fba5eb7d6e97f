import { type ContactId, type EmailId, type Id, type MailboxId, newId, type ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { type Fragment, sql } from '../../database/sql.ts'
import { activityConsumer } from '../../events/activity.ts'
import type { ContactGroupRow } from '../contact-groups/contact-group.ts'
import type { SubscriberRow } from '../subscribers/subscriber.ts'
import { erasedAddress, keysOf, type Person, spellingsOf } from './person.ts'

interface ContactKey {
  project_id: ProjectId
  contact_id: ContactId
}

/** Groups are held before contacts, as by whoever puts somebody into one. */
export const leaveGroups = (tx: Transaction, { project_id, contact_id }: ContactKey) => tx.many<ContactGroupRow>`
  with held as (
    select g.project_id, g.id from contact_groups g join contact_group_members m on m.project_id = g.project_id and m.group_id = g.id
    where m.project_id = ${project_id} and m.contact_id = ${contact_id} order by g.id for update of g
  ), gone as (
    delete from contact_group_members m using held where m.project_id = ${project_id} and m.group_id = held.id and m.contact_id = ${contact_id}
    returning m.group_id
  )
  update contact_groups g set contact_count = g.contact_count - 1, updated_at = ${tx.now} from gone where g.project_id = ${project_id} and g.id = gone.group_id
  returning g.*`

/** From all lists. Of lists that are deleted nothing is told, and nothing is counted any more. */
export const removeSubscriptions = (tx: Transaction, { project_id, contact_id }: ContactKey) => tx.many<SubscriberRow>`
  with gone as (delete from subscribers where project_id = ${project_id} and contact_id = ${contact_id} returning *)
  select gone.* from gone join lists l on l.project_id = gone.project_id and l.id = gone.list_id
  where l.deleted_at is null order by gone.list_id`

export const removeContact = (tx: Transaction, { project_id, contact_id }: ContactKey) => tx.run`
  delete from contacts where project_id = ${project_id} and id = ${contact_id}`

export interface Erasure extends Person {
  id: string
}

export async function insertErasure(tx: Transaction, { project_id, contact_id, email, email_key, former }: Person): Promise<string> {
  const id = newId()
  await tx.run`
    insert into erasures (project_id, id, contact_id, email, email_key, former, created_at)
    values (${project_id}, ${id}, ${contact_id}, ${email}, ${email_key}, ${JSON.stringify(former)}, ${tx.now})`
  return id
}

export const openErasures = (db: Queryable) =>
  db.many<Erasure>`select project_id, id, contact_id, email, email_key, former from erasures order by id`

/** By its own id: a merge may have taken it into another project. */
export const findErasure = (db: Queryable, id: string) => db.first<Erasure>`
  select project_id, id, contact_id, email, email_key, former from erasures where id = ${id}`

export const removeErasure = (db: Queryable, { project_id, id }: Erasure) => db.run`
  delete from erasures where project_id = ${project_id} and id = ${id}`

/** Where mail of theirs is found, each by what leads there, and none twice. Programs that write in their name have no contact, and are looked for among all. */
export const placesOfMail = (person: Person): Fragment[] => [
  sql`e.contact_id = ${person.contact_id}`,
  sql`e.to_key = any(${keysOf(person)}::text[]) and e.direction = 'outbound' and e.contact_id is distinct from ${person.contact_id}`,
  sql`e.direction = 'inbound' and e.contact_id is null and lower(e.from_address) = any(${spellingsOf(person)}::text[])`,
]

export interface FoundEmail {
  id: EmailId
  mailbox_id: MailboxId
  raw_key: string | null
}

/** It may also be the message of the same id, which passes the e-mail on to somebody else. */
const isBeingSent = sql`(e.status = 'sending' or exists (
  select 1 from messages m where m.project_id = e.project_id and m.id = e.id and m.status = 'sending'))`

/** What is being sent at this moment belongs to whoever sends it. */
export const findEmails = (db: Queryable, { project_id }: Person, place: Fragment, limit: number) => db.many<FoundEmail>`
  select e.id, e.mailbox_id, e.raw_key from emails e where e.project_id = ${project_id} and not ${isBeingSent} and ${place} limit ${limit}`

/** What was being sent when the rest was removed, even if it has left since. */
export async function hasMailLeft(db: Queryable, person: Person): Promise<boolean> {
  for (const place of placesOfMail(person))
    if (await db.first`select 1 from emails e where e.project_id = ${person.project_id} and ${place} limit 1`) return true
  return false
}

/**
 * Mailboxes are held before their e-mails, as by whoever files mail. The messages that pass them on go first, so that an e-mail whose
 * message has just begun to be sent stays, and both are found the next time.
 */
export async function removeEmails(tx: Transaction, project_id: ProjectId, emails: FoundEmail[]): Promise<void> {
  await tx.run`
    select 1 from mailboxes where project_id = ${project_id} and id = any(${emails.map(({ mailbox_id }) => mailbox_id)}::uuid[])
    order by id for no key update`
  const ids = emails.map(({ id }) => id)
  await tx.run`delete from messages where project_id = ${project_id} and id = any(${ids}::uuid[]) and status <> 'sending'`
  await tx.run`
    with gone as (
      delete from emails e where project_id = ${project_id} and id = any(${ids}::uuid[])
        and not exists (select 1 from messages m where m.project_id = e.project_id and m.id = e.id)
      returning mailbox_id, position
    )
    update mailboxes m set email_count = greatest(0, m.email_count - g.count)
    from (select mailbox_id, count(*) as count from gone where position is not null group by mailbox_id) g
    where m.project_id = ${project_id} and m.id = g.mailbox_id`
}

/** The counts of posts are made of these rows, so they stay. What was said of the address goes with it. */
export const anonymiseDeliveries = (db: Queryable, { project_id, contact_id }: Person, limit: number) => db.run`
  update deliveries set contact_id = '00000000-0000-0000-0000-000000000000', email = ${erasedAddress}, name = null, reason = null, bounce_class = null
  where project_id = ${project_id} and id in (
    select id from deliveries where project_id = ${project_id} and contact_id = ${contact_id} and status <> 'sending' limit ${limit})`

export async function isBeingSentTo(db: Queryable, person: Person): Promise<boolean> {
  const { project_id, contact_id } = person
  const keys = keysOf(person)
  const sending = await db.first`
    select 1 from deliveries where project_id = ${project_id} and contact_id = ${contact_id} and status = 'sending'
    union all select 1 from emails where project_id = ${project_id} and to_key = any(${keys}::text[]) and direction = 'outbound' and status = 'sending'
    union all select 1 from messages where project_id = ${project_id} and recipient_key = any(${keys}::text[]) and status = 'sending'`
  return sending !== null
}

/** Confirmations and notices to them, and the ways back to them through proxy mailboxes. */
export async function removeRest(tx: Transaction, person: Person): Promise<void> {
  const { project_id } = person
  const keys = keysOf(person)
  await tx.run`delete from messages where project_id = ${project_id} and recipient_key = any(${keys}::text[]) and status <> 'sending'`
  await tx.run`delete from proxy_addresses where project_id = ${project_id} and outside_key = any(${keys}::text[])`
}

/** Comes after their events are redacted: what the feeds' consumer has read of those before, it files first. */
export async function leaveFeeds(tx: Transaction, person: Person): Promise<void> {
  await tx.run`select 1 from event_consumers where name = ${activityConsumer.name} for update`
  await tx.run`
    update list_activity set email = null, message_id = null, subject = case when type = 'email.replied' then null else subject end
    where project_id = ${person.project_id} and lower(email) = any(${spellingsOf(person)}::text[])`
}

interface GoneEvent {
  id: Id<'cal'>
  mailbox_id: MailboxId
}

/** What they invited others to, and themselves among those who were invited. */
export async function leaveCalendars(tx: Transaction, person: Person): Promise<GoneEvent[]> {
  const { project_id } = person
  const [keys, spellings] = [keysOf(person), spellingsOf(person)]
  const gone = await tx.many<GoneEvent & { status: string }>`
    delete from calendar_events where project_id = ${project_id} and (organizer_key = any(${keys}::text[]) or sender_key = any(${keys}::text[]))
    returning id, mailbox_id, status`
  await tx.run`
    update calendar_events e set updated_at = ${tx.now}, attendees = (
      select coalesce(jsonb_agg(one order by number), '[]') from jsonb_array_elements(e.attendees) with ordinality as a (one, number)
      where lower(one->>'address') <> all(${spellings}::text[]))
    where project_id = ${project_id} and exists (
      select 1 from jsonb_array_elements(e.attendees) as one where lower(one->>'address') = any(${spellings}::text[]))`
  return gone.filter(({ status }) => status !== 'cancelled')
}

/** Of people whom a release before this one has erased, beside it: it did not know of these. */
export const dropStrayAddresses = (db: Queryable) => db.run`
  delete from former_addresses f
  where not exists (select 1 from contacts c where c.project_id = f.project_id and c.id = f.contact_id)`

import type { EmailId, MailboxId, ProjectId } from '../../base/ids.ts'
import type { Database, Transaction } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { removeRawMail } from '../raw-mail/index.ts'

const chunk = 1_000

export type Erasing = Pick<Services, 'database' | 'clock' | 'blobs'>

export interface MailboxKey {
  project_id: ProjectId
  id: MailboxId
}

/** Erases what a deleted mailbox held, in chunks. Killed in between, it goes on where it was. */
export async function emptyMailbox(services: Erasing, { project_id, id }: MailboxKey): Promise<void> {
  const { database, clock } = services
  for (let erased = chunk; erased === chunk; ) erased = await eraseEmails(services, { project_id, id })
  await database.run`delete from proxy_addresses where project_id = ${project_id} and mailbox_id = ${id}`
  await database.run`delete from calendar_events where project_id = ${project_id} and mailbox_id = ${id}`
  await database.run`
    update mailboxes set emptied_at = ${clock.now()}, name = null, config = null, email_count = 0 where project_id = ${project_id} and id = ${id}`
}

/** The raw messages go first: a row that outlives its message is found again tomorrow, a message that nothing names never. */
async function eraseEmails(services: Erasing, key: MailboxKey): Promise<number> {
  const { database } = services
  const emails = await nextEmails(database, key)
  const keys = emails.flatMap(({ raw_key, is_shared }) => (raw_key === null || is_shared ? [] : [raw_key]))
  await removeRawMail(services, key.project_id, keys)
  await database.transaction((tx) =>
    removeEmails(
      tx,
      key,
      emails.map(({ id }) => id),
    ),
  )
  return emails.length
}

/** What people received from it, and answered, stays with them as a number. */
const removeEmails = (tx: Transaction, { project_id, id }: MailboxKey, ids: EmailId[]) => tx.run`
  with gone as (
    delete from emails where project_id = ${project_id} and mailbox_id = ${id} and id = any(${ids}::uuid[])
    returning direction, status, to_key, contact_id, is_reply and not is_automatic as is_reply
  ), forgotten as (
    select to_key, count(*) as count from gone where direction = 'outbound' and status not in ('sending', 'failed', 'bounced') group by to_key
  ), of_people as (
    select c.id, f.count as received, 0 as replies from forgotten f join contacts c on c.project_id = ${project_id} and c.email_key = f.to_key
    union all select contact_id, 0, count(*) from gone where is_reply and contact_id is not null group by contact_id
  ), summed as (
    select id, sum(received) as received, sum(replies) as replies from of_people group by id
  ), held as (
    select c.id, s.received, s.replies from contacts c join summed s on s.id = c.id where c.project_id = ${project_id} order by c.id for no key update of c
  )
  update contacts c set total_received = c.total_received + held.received, past_replies = c.past_replies + held.replies
  from held where c.project_id = ${project_id} and c.id = held.id`

/** A mail to two mailboxes of a project is two e-mails and one raw message. */
const nextEmails = (database: Database, { project_id, id }: MailboxKey) => database.many<{
  id: EmailId
  raw_key: string | null
  is_shared: boolean
}>`
  select id, raw_key, exists (
      select 1 from emails other
      where other.project_id = e.project_id and other.inbound_id = e.inbound_id and other.mailbox_id <> e.mailbox_id and other.raw_key = e.raw_key) as is_shared
  from emails e where project_id = ${project_id} and mailbox_id = ${id} order by id limit ${chunk}`

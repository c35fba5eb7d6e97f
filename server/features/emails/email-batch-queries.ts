import type { EmailId, MailboxId, ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { countedSingleMail, senderDomainOf } from '../../delivery/control.ts'
import { eventRow, publishing } from '../../events/publish.ts'
import { type AuditTrail, leavingTrails } from '../../operations/audit.ts'
import type { Services } from '../../operations/context.ts'
import { drawnPlaces, type MailboxRow } from '../mailboxes/index.ts'
import { addressHash } from '../suppressions/suppression.ts'
import { reservedWithinPlan } from '../usage/index.ts'
import { type EmailRow, emailEventData } from './email.ts'
import { type Hindrances, hasFailedLast, suppressedFor, type UnsentEmail } from './email-queries.ts'

/**
 * What happens to many mails at once. Each of these is one statement: every question to the database costs the program about as much
 * as composing a mail, and rows that others wait for are held for as long as it takes to ask the next one.
 */
export interface BookedEmail extends UnsentEmail {
  reservation_id: string
}

export interface Asked {
  project_id: ProjectId
  /** Of the mailbox that is to send. */
  address_key: string
  to_key: string
}

export interface Sender {
  mailbox: MailboxRow
  hindrances: Hindrances
}

/** The mailboxes that mails are to go out from, with what may stand against each. Null where there is none of that address. */
export async function findSenders(db: Queryable, asked: Asked[]): Promise<(Sender | null)[]> {
  const rows = await db.many<MailboxRow & Hindrances & { number: number }>`
    select m.*, q.number, ${suppressedFor(sql`q.project_id`, sql`q.address_hash`)}, ${hasFailedLast(sql`m.project_id`, sql`m.id`)}
    from unnest(${asked.map(({ project_id }) => project_id)}::uuid[], ${asked.map(({ address_key }) => address_key)}::text[],
      ${asked.map(({ project_id, to_key }) => addressHash(project_id, to_key))}::bytea[]) with ordinality as q (project_id, address_key, address_hash, number)
    join mailboxes m on m.project_id = q.project_id and m.address_key = q.address_key and m.deleted_at is null`
  const senders: (Sender | null)[] = asked.map(() => null)
  for (const { number, suppressed_for, has_failed_last, ...mailbox } of rows)
    senders[number - 1] = { mailbox, hindrances: { suppressed_for, has_failed_last } }
  return senders
}

interface Booking {
  /** All of one project. */
  emails: BookedEmail[]
  trails: AuditTrail[]
}

/** New mails, what they book of the plan, and who asked for them. Null, and nothing is written, when they do not all fit. */
export async function insertWithinPlan(services: Pick<Services, 'config'>, tx: Transaction, { emails, trails }: Booking) {
  const [{ project_id }] = emails as [BookedEmail] // there is no batch of none
  const bookings = emails.map(({ reservation_id }) => ({ reservation_id, count: 1 }))
  const rows = await tx.many<Pick<EmailRow, 'id' | 'contact_id'>>`
    with ${reservedWithinPlan(services, tx, { project_id, bookings })}, written as (
      insert into emails (project_id, id, mailbox_id, from_address, to_address, to_key, reply_to, subject, text_body, html_body,
        status, provider_message_id, message_id, source_tag, metadata, reservation_id, from_name, in_reply_to, reference_ids, thread_id, tags,
        contact_id, created_at, updated_at)
      select ${project_id}, e.id, mailbox_id, from_address, to_address, to_key, reply_to, subject, text_body, html_body,
        'sending', provider_message_id, provider_message_id, source_tag, metadata, reservation_id, from_name, in_reply_to, reference_ids, thread_id, tags,
        (select c.id from contacts c where c.project_id = ${project_id} and c.email_key = e.to_key), ${tx.now}, ${tx.now}
      from counted, json_to_recordset(${JSON.stringify(emails)}) as e (id uuid, mailbox_id uuid, from_address text, to_address text, to_key text,
        reply_to text, subject text, text_body text, html_body text, provider_message_id text, source_tag text, metadata jsonb, reservation_id uuid,
        from_name text, in_reply_to text, reference_ids text[], thread_id uuid, tags jsonb)
      returning id, contact_id
    ), audited as (${leavingTrails(tx, trails)} where exists (select from counted))
    select id, contact_id from written`
  if (rows.length === 0) return null
  const contacts = new Map(rows.map(({ id, contact_id }) => [id, contact_id]))
  return emails.map(
    (email): EmailRow => ({
      ...email,
      contact_id: contacts.get(email.id) ?? null,
      status: 'sending',
      reason: null,
      created_at: tx.now,
    }),
  )
}

interface Taken {
  /** With the Message-ID that it went out with. */
  email: EmailRow
  smtp_code: number | null
}

interface Settled {
  id: EmailId
  mailbox_id: MailboxId
  /** A merge may have taken everything else into another project while this was on its way. */
  home: ProjectId
}

/** What came back is the last word, and may be quicker than we are: then the mail gets its place, and stays as it is. */
const isBack = sql`e.status in ('bounced', 'complained')`

/** Mails that other servers have taken: each gets its place in its mailbox, in this order, and its events. Acceptance is delivery. */
export const settleTaken = (tx: Transaction, taken: Taken[]) => tx.many<Settled>`
  with taken as (
    select t.*, coalesce((
      select merged_into from agent_registrations r where r.project_id = t.project_id and merged_into is not null limit 1), t.project_id) as home
    from unnest(${taken.map(({ email }) => email.project_id)}::uuid[], ${taken.map(({ email }) => email.id)}::uuid[],
      ${taken.map(({ email }) => email.mailbox_id)}::uuid[], ${taken.map(({ smtp_code }) => smtp_code)}::integer[],
      ${taken.map(({ email }) => senderDomainOf(email.from_address))}::text[], ${taken.map(({ email }) => email.provider_message_id)}::text[])
      with ordinality as t (project_id, id, mailbox_id, smtp_code, domain, message_id, number)
  ), added as (
    select home as project_id, mailbox_id, count(*)::integer as count, null::timestamptz as received_at from taken group by home, mailbox_id
  ), ${drawnPlaces}, placed as (
    select t.*, d.first_position + row_number() over (partition by t.home, t.mailbox_id order by t.number) - 1 as position
    from taken t left join drawn d on d.project_id = t.home and d.id = t.mailbox_id
  ), settled as (
    update emails e set status = case when ${isBack} then e.status else 'delivered' end,
      smtp_code = case when ${isBack} then e.smtp_code else p.smtp_code end,
      enhanced_code = case when ${isBack} then e.enhanced_code end,
      reason = case when ${isBack} then e.reason end,
      is_soft_bounce = ${isBack} and e.is_soft_bounce,
      provider_message_id = p.message_id, message_id = p.message_id, position = p.position, updated_at = ${tx.now}
    from placed p where e.project_id = p.project_id and e.id = p.id
    returning p.number, e.status = 'delivered' as is_delivered
  ), ${countedSingleMail(tx.now)}, told as (
    select p.home as project_id, event.id, event.type, event.data, event.number
    from json_to_recordset(${JSON.stringify(taken.flatMap(eventsOf).map(eventRow))}) as event (of bigint, id uuid, type text, data jsonb, number integer)
    join placed p on p.number = event.of left join settled s on s.number = event.of
    where event.type = 'email.sent' or s.is_delivered
  ), ${publishing(tx)}
  select id, mailbox_id, home from taken order by number`

/** The second is told only when it is true. */
const eventsOf = ({ email }: Taken, index: number) => {
  const as = (status: EmailRow['status']) => emailEventData({ ...email, status })
  return [
    { of: index + 1, type: 'email.sent', data: as('sent') },
    { of: index + 1, type: 'email.delivered', data: as('delivered') },
  ] as const
}

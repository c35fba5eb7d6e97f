import { formatId, type IdPrefix } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import { eventsOf } from '../../events/expand-events.ts'
import { formerAddressesToShow } from '../contacts/index.ts'
import { emailText } from '../raw-mail/index.ts'
import { findSuppression } from '../suppressions/index.ts'
import { placesOfMail } from './erasure-queries.ts'
import { keysOf, type Person, spellingsOf } from './person.ts'
import { eventsAbout, namesOf } from './person-events.ts'

type Row = Record<string, unknown>

/** In the order of the file. */
export const sectionsOf = (db: Queryable, person: Person): Record<string, AsyncIterable<object>> => ({
  former_addresses: presented(() => formerAddressesToShow(db, person), {}),
  lists: presented(() => listsOf(db, person), { list_id: 'lst', subscriber_id: 'sub' }),
  groups: presented(() => groupsOf(db, person), { id: 'grp' }),
  posts: inPages((after) => deliveriesOf(db, person, after), { id: 'dlv', post_id: 'post', list_id: 'lst' }),
  emails: emailsOf(db, person),
  messages: inPages((after) => messagesOf(db, person, after), { id: 'msg', list_id: 'lst' }),
  calendar_events: presented(() => calendarEventsOf(db, person), { id: 'cal', mailbox_id: 'mbx' }),
  suppressions: presented(() => suppressionsOf(db, person), {}),
  events: outboxOf(db, person),
})

type Ids = Record<string, IdPrefix>

const present = (row: Row, ids: Ids): Row =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, ids[name] && typeof value === 'string' ? formatId(ids[name], value) : value]),
  )

async function* presented(find: () => Promise<Row[]>, ids: Ids): AsyncGenerator<Row> {
  for (const row of await find()) yield present(row, ids)
}

const pageSize = 200

/** By id, as long as pages are full. */
async function* inPages(find: (after: string) => Promise<Row[]>, ids: Ids): AsyncGenerator<Row> {
  for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
    const rows = await find(after)
    for (const row of rows) yield present(row, ids)
    const last = rows.at(-1)
    if (!last || rows.length < pageSize) return
    after = String(last.id)
  }
}

async function* emailsOf(db: Queryable, person: Person): AsyncGenerator<Row> {
  for (const place of placesOfMail(person))
    yield* inPages(
      (after) => db.many<Row>`
        select e.id, e.mailbox_id, e.direction, e.from_address, e.from_name, e.to_address, e.subject, e.status, ${emailText} as text_body, e.html_body,
          e.message_id, e.in_reply_to, e.thread_id, e.source_tag as tag, e.metadata, e.tags, e.extracted_data, e.attachments, e.verdicts, e.reason,
          e.created_at
        from emails e where e.project_id = ${person.project_id} and e.id > ${after} and ${place} order by e.id limit ${pageSize}`,
      { id: 'eml', mailbox_id: 'mbx', thread_id: 'thr' },
    )
}

const listsOf = (db: Queryable, { project_id, contact_id }: Person) => db.many<Row>`
  select s.id as subscriber_id, s.list_id, l.name as list_name, s.email, s.name, s.status, s.source, s.subscribed_at, s.unsubscribed_at,
    s.unsubscribe_reason, s.paused_until, s.last_open_at, s.last_click_at, s.country, s.city, s.created_at, e.status as waitlist_status, e.referral_code, e.referral_count, e.invited_at,
    e.accepted_at
  from subscribers s join lists l on l.project_id = s.project_id and l.id = s.list_id
    left join waitlist_entries e on e.project_id = s.project_id and e.list_id = s.list_id and e.subscriber_id = s.id
  where s.project_id = ${project_id} and s.contact_id = ${contact_id} order by s.created_at, s.id`

const groupsOf = (db: Queryable, { project_id, contact_id }: Person) => db.many<Row>`
  select g.id, g.name, m.added_at from contact_group_members m join contact_groups g on g.project_id = m.project_id and g.id = m.group_id
  where m.project_id = ${project_id} and m.contact_id = ${contact_id} order by g.id`

const deliveriesOf = (db: Queryable, { project_id, contact_id }: Person, after: string) => db.many<Row>`
  select d.id, b.post_id, b.list_id, b.source->'post'->>'subject' as subject, d.email, d.name, d.status, d.reason, d.sent_at, d.settled_at,
    d.opened_at, d.clicked_at, d.open_count, d.click_count, d.unsubscribed_at,
    array(select url from broadcast_links l where l.project_id = d.project_id and l.broadcast_id = d.broadcast_id and l.number = any(d.clicked_links)
      order by l.number) as clicked_links
  from deliveries d join broadcasts b on b.project_id = d.project_id and b.id = d.broadcast_id
  where d.project_id = ${project_id} and d.contact_id = ${contact_id} and d.id > ${after} order by d.id limit ${pageSize}`

const messagesOf = (db: Queryable, person: Person, after: string) => db.many<Row>`
  select id, list_id, kind, recipient, mail->>'subject' as subject, case when not is_secret then mail->>'text' end as text, status, reason, created_at, settled_at
  from messages where project_id = ${person.project_id} and recipient_key = any(${keysOf(person)}::text[]) and id > ${after} order by id limit ${pageSize}`

const calendarEventsOf = (db: Queryable, person: Person) => db.many<Row>`
  select id, mailbox_id, uid, title, description, location, organizer, attendees, starts_at, ends_at, is_all_day, timezone, recurrence, status, created_at
  from calendar_events e where project_id = ${person.project_id} and (organizer_key = any(${keysOf(person)}::text[]) or sender_key = any(${keysOf(person)}::text[])
    or exists (select 1 from jsonb_array_elements(e.attendees) as one where lower(one->>'address') = any(${spellingsOf(person)}::text[])))
  order by starts_at, id`

async function suppressionsOf(db: Queryable, person: Person): Promise<Row[]> {
  const found = await Promise.all(keysOf(person).map((key) => findSuppression(db, person.project_id, key)))
  return found.flatMap((one) => (one ? [{ email: one.email, reason: one.reason, detail: one.detail, created_at: one.created_at }] : []))
}

/** A bulk row is about thousands: theirs are picked out. */
async function* outboxOf(db: Queryable, person: Person): AsyncGenerator<object> {
  const isTheirs = namesOf(person)
  for await (const row of eventsAbout(db, person))
    for (const { type, data, created_at } of eventsOf(row))
      if (isTheirs(data.contact_id) || isTheirs(data.from) || isTheirs(data.to)) yield { type, created_at, data }
}

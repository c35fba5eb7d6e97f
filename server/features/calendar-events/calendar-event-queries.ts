import type { MailboxId, ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import type { CalendarEventId, CalendarEventRow } from './calendar-event.ts'

/** What a deleted mailbox held is out of sight at once; its rows go in the background. */
const isSeen = sql`exists (
  select 1 from mailboxes m where m.project_id = e.project_id and m.id = e.mailbox_id and m.deleted_at is null)`

interface EventKey {
  project_id: ProjectId
  id: CalendarEventId
  /** Narrows it to one mailbox, for a key that reaches no further. */
  mailbox_id: MailboxId | null
}

export const findCalendarEvent = (db: Queryable, { project_id, id, mailbox_id }: EventKey) => db.first<CalendarEventRow>`
  select e.* from calendar_events e where e.project_id = ${project_id} and e.id = ${id}
    ${mailbox_id === null ? nothing : sql`and e.mailbox_id = ${mailbox_id}`} and ${isSeen}`

interface EventFilter {
  project_id: ProjectId
  mailbox_id: MailboxId | null
  status?: CalendarEventRow['status'] | undefined
  from?: Date | undefined
  to?: Date | undefined
  after: { starts_at: Date; id: string } | null
  limit: number
}

/** By their beginning. Cancelled ones only when asked for. A series may come into the time that is asked for whenever it began before. */
export const pageCalendarEvents = (
  db: Queryable,
  { project_id, mailbox_id, status, from, to, after, limit }: EventFilter,
) => db.many<CalendarEventRow>`
  select e.* from calendar_events e where e.project_id = ${project_id}
    ${mailbox_id === null ? nothing : sql`and e.mailbox_id = ${mailbox_id}`}
    ${status === undefined ? sql`and e.status <> 'cancelled'` : sql`and e.status = ${status}`}
    ${from === undefined ? nothing : sql`and (e.ends_at > ${from} or e.starts_at >= ${from} or e.recurrence is not null)`}
    ${to === undefined ? nothing : sql`and e.starts_at < ${to}`}
    ${after === null ? nothing : sql`and (e.starts_at, e.id) > (${after.starts_at}::timestamptz, ${after.id}::uuid)`}
    and ${isSeen}
  order by e.starts_at, e.id limit ${limit}`

export const lockCalendarEvent = (
  tx: Transaction,
  { project_id, mailbox_id, uid }: Pick<CalendarEventRow, 'project_id' | 'mailbox_id' | 'uid'>,
) => tx.first<CalendarEventRow>`
  select * from calendar_events where project_id = ${project_id} and mailbox_id = ${mailbox_id} and uid = ${uid} for update`

/** Null when another mail brought the same event in the meantime. */
export const insertCalendarEvent = (
  tx: Transaction,
  event: Omit<CalendarEventRow, 'created_at' | 'updated_at'>,
) => tx.first<CalendarEventRow>`
  insert into calendar_events (project_id, id, mailbox_id, email_id, uid, sequence, stamped_at, title, description, location, organizer,
    organizer_name, organizer_key, sender_key, attendees, starts_at, ends_at, is_all_day, timezone, recurrence, status, created_at, updated_at)
  values (${event.project_id}, ${event.id}, ${event.mailbox_id}, ${event.email_id}, ${event.uid}, ${event.sequence}, ${event.stamped_at},
    ${event.title}, ${event.description}, ${event.location}, ${event.organizer}, ${event.organizer_name}, ${event.organizer_key},
    ${event.sender_key}, ${JSON.stringify(event.attendees)}, ${event.starts_at}, ${event.ends_at}, ${event.is_all_day}, ${event.timezone},
    ${event.recurrence}, ${event.status}, ${tx.now}, ${tx.now})
  on conflict (project_id, mailbox_id, uid) do nothing
  returning *`

export const saveCalendarEvent = (tx: Transaction, event: CalendarEventRow) => tx.run`
  update calendar_events set email_id = ${event.email_id}, sequence = ${event.sequence}, stamped_at = ${event.stamped_at},
    title = ${event.title}, description = ${event.description}, location = ${event.location}, organizer = ${event.organizer},
    organizer_name = ${event.organizer_name}, organizer_key = ${event.organizer_key}, sender_key = ${event.sender_key},
    attendees = ${JSON.stringify(event.attendees)}, starts_at = ${event.starts_at}, ends_at = ${event.ends_at},
    is_all_day = ${event.is_all_day}, timezone = ${event.timezone}, recurrence = ${event.recurrence}, status = ${event.status},
    updated_at = ${tx.now}
  where project_id = ${event.project_id} and id = ${event.id}`

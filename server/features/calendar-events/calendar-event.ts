import { z } from 'zod'
import { type EmailId, type Id, idOf, type MailboxId, type ProjectId } from '../../base/ids.ts'
import type { Attendee } from '../../mail/inbound/read-calendar.ts'
import { timestamp } from '../../operations/schemas.ts'

export type CalendarEventId = Id<'cal'>

export const CalendarEventStatus = z.enum(['tentative', 'confirmed', 'cancelled'])

export interface CalendarEventRow {
  project_id: ProjectId
  id: CalendarEventId
  mailbox_id: MailboxId
  /** The mail that last changed it; null once that was erased. */
  email_id: EmailId | null
  uid: string
  sequence: number
  stamped_at: Date | null
  title: string
  description: string | null
  location: string | null
  organizer: string | null
  organizer_name: string | null
  organizer_key: string | null
  sender_key: string | null
  attendees: Attendee[]
  starts_at: Date
  ends_at: Date
  is_all_day: boolean
  timezone: string | null
  recurrence: string | null
  status: z.output<typeof CalendarEventStatus>
  created_at: Date
  updated_at: Date
}

const Person = z.object({ name: z.string().nullable(), address: z.string() })

export const CalendarEvent = z
  .object({
    id: idOf('cal'),
    mailbox_id: idOf('mbx'),
    email_id: idOf('eml').nullable().meta({ description: 'The mail that brought it, or changed it last' }),
    uid: z.string().meta({ description: 'What calendars know it by' }),
    sequence: z.int().meta({ description: 'Counted up by its organizer with every change' }),
    title: z.string(),
    description: z.string().nullable(),
    location: z.string().nullable(),
    organizer: Person.nullable(),
    attendees: z.array(
      Person.extend({
        status: z.enum(['needs_action', 'accepted', 'declined', 'tentative', 'delegated']),
        role: z.enum(['chair', 'required', 'optional', 'none']),
      }),
    ),
    starts_at: timestamp,
    ends_at: timestamp.meta({ description: 'The first moment after it' }),
    is_all_day: z.boolean().meta({ description: 'Then both times are midnight UTC of a day: take the days, not the times' }),
    timezone: z
      .string()
      .nullable()
      .meta({ description: 'Where it takes place, such as Europe/Berlin; null when the invitation does not tell' }),
    recurrence: z
      .string()
      .nullable()
      .meta({ description: 'The rule of a series as written (RFC 5545 RRULE); the times are those of its first' }),
    status: CalendarEventStatus,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'CalendarEvent' })

export const toCalendarEvent = (row: CalendarEventRow): z.output<typeof CalendarEvent> => ({
  ...row,
  organizer: row.organizer === null ? null : { name: row.organizer_name, address: row.organizer },
})

/** Events of the outbox are sent on: what strangers wrote at length is shortened. */
const maxToldAttendees = 50
const maxToldLetters = 2_000

export const calendarEventData = (row: CalendarEventRow) => {
  const { id, mailbox_id, title } = row
  const told = {
    attendees: row.attendees.slice(0, maxToldAttendees),
    description: row.description?.slice(0, maxToldLetters).toWellFormed() ?? null,
  }
  return { calendar_event_id: id, mailbox_id, title, calendar_event: toCalendarEvent({ ...row, ...told }) }
}

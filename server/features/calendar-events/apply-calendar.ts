import { isDeepStrictEqual } from 'node:util'
import { type EmailId, type MailboxId, newId, type ProjectId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import { addressKey } from '../../mail/address.ts'
import { type ReadCalendar, readCalendar, type CalendarEvent as Written } from '../../mail/inbound/read-calendar.ts'
import { type CalendarEventRow, calendarEventData } from './calendar-event.ts'
import { insertCalendarEvent, lockCalendarEvent, saveCalendarEvent } from './calendar-event-queries.ts'

/** A text/calendar part of a mail that is filed in this transaction. */
export interface ArrivedCalendar {
  project_id: ProjectId
  mailbox_id: MailboxId
  email_id: EmailId
  text: string
  /** The address in From; null when there is none. */
  from: string | null
  /** The sender's domain says that this mail is not from there (DMARC failed). Nothing in it is believed. */
  isForged: boolean
  /** The domain in From vouched for this mail: only such mail changes what is known, since others can write any address there. */
  isProven: boolean
}

/** One arrival, with what decides who may change what. */
interface Arrival extends Pick<ArrivedCalendar, 'project_id' | 'mailbox_id' | 'email_id' | 'isProven'> {
  sender_key: string | null
}

/**
 * What RFC 5546 says of a calendar that arrives by mail: an invitation makes an event, or changes the one with its UID; a cancellation
 * ends it; the answer of somebody who was invited is noted. Anybody may invite, but only the organizer, or whoever sent the invitation
 * (services send on behalf of people), changes or cancels, with proof that it is them. What is older than what is known changes nothing,
 * in whatever order mail arrives.
 */
export async function applyCalendar(tx: Transaction, arrived: ArrivedCalendar): Promise<void> {
  if (arrived.isForged) return
  const arrival = { ...arrived, sender_key: addressKey(arrived.from) }
  for (const { method, events } of readCalendar(arrived.text)) {
    for (const event of events) await applyEvent(tx, arrival, method, event)
  }
}

async function applyEvent(tx: Transaction, arrival: Arrival, method: ReadCalendar['method'], written: Written): Promise<void> {
  const { project_id, mailbox_id } = arrival
  const known = await lockCalendarEvent(tx, { project_id, mailbox_id, uid: written.uid })
  if (known && !arrival.isProven) return
  if (method === 'reply') return known ? noteAnswer(tx, arrival, known, written) : undefined
  if (method === 'other') return
  const isOver = method === 'cancel' || written.status === 'cancelled'
  if (!known) return isOver ? undefined : create(tx, arrival, written)
  if (!mayChange(arrival, known)) return
  if (isOver) return cancel(tx, arrival, known, written)
  if (isNewer(written, known)) await change(tx, arrival, known, written)
}

const mayChange = ({ sender_key }: Arrival, { organizer_key, sender_key: before }: CalendarEventRow): boolean =>
  sender_key !== null && (sender_key === organizer_key || sender_key === before)

/** RFC 5546 section 2.1.5. */
const isNewer = ({ sequence, stamped_at }: Written, known: CalendarEventRow): boolean =>
  sequence > known.sequence || (sequence === known.sequence && stampOf(stamped_at) > stampOf(known.stamped_at))
const stampOf = (at: Date | null): number => at?.getTime() ?? 0

/** Of an invitation or a publication, which have times. */
const columnsOf = ({ email_id, sender_key }: Arrival, { organizer, ...written }: Written) => ({
  ...written,
  email_id,
  sender_key,
  organizer: organizer?.address ?? null,
  organizer_name: organizer?.name ?? null,
  organizer_key: addressKey(organizer?.address),
  starts_at: written.starts_at as Date,
  ends_at: written.ends_at as Date,
})

async function create(tx: Transaction, arrival: Arrival, written: Written): Promise<void> {
  const { project_id, mailbox_id } = arrival
  const made = await insertCalendarEvent(tx, { project_id, mailbox_id, id: newId<'cal'>(), ...columnsOf(arrival, written) })
  // Another mail brought the same event at this moment: what is here is held against that.
  if (!made) return applyEvent(tx, arrival, 'request', written)
  await publish(tx, project_id, 'calendar_event.created', calendarEventData(made))
}

/** One that was cancelled and is held after all is told of as a new one. */
async function change(tx: Transaction, arrival: Arrival, known: CalendarEventRow, written: Written): Promise<void> {
  // Whoever sent the invitation still may change it after the organizer has.
  const changed: CalendarEventRow = { ...known, ...columnsOf(arrival, written), sender_key: known.sender_key }
  await saveCalendarEvent(tx, changed)
  if (known.status === 'cancelled') await publish(tx, known.project_id, 'calendar_event.created', calendarEventData(changed))
  else if (!isDeepStrictEqual(seenIn(known), seenIn(changed)))
    await publish(tx, known.project_id, 'calendar_event.updated', calendarEventData(changed))
}

/** Some programs send the same again with a new stamp: that is no change. */
const seenIn = ({
  title,
  description,
  location,
  organizer,
  attendees,
  starts_at,
  ends_at,
  is_all_day,
  timezone,
  recurrence,
  status,
}: CalendarEventRow) =>
  [title, description, location, organizer, attendees, starts_at, ends_at, is_all_day, timezone, recurrence, status] as const

/** Some programs do not count a cancellation up. */
async function cancel(tx: Transaction, { email_id }: Arrival, known: CalendarEventRow, written: Written): Promise<void> {
  if (known.status === 'cancelled' || written.sequence < known.sequence) return
  const { sequence, stamped_at } = written
  const cancelled: CalendarEventRow = { ...known, email_id, sequence, stamped_at: stamped_at ?? known.stamped_at, status: 'cancelled' }
  await saveCalendarEvent(tx, cancelled)
  await publish(tx, known.project_id, 'calendar_event.deleted', calendarEventData(cancelled))
}

/** Everybody answers for themselves, and for the event as it is. */
async function noteAnswer(tx: Transaction, { sender_key }: Arrival, known: CalendarEventRow, written: Written): Promise<void> {
  const answer = written.attendees.find(({ address }) => addressKey(address) === sender_key)
  if (!answer || sender_key === null || written.sequence < known.sequence) return
  const attendees = known.attendees.map((one) => (addressKey(one.address) === sender_key ? { ...one, status: answer.status } : one))
  if (isDeepStrictEqual(attendees, known.attendees)) return
  const answered = { ...known, attendees }
  await saveCalendarEvent(tx, answered)
  await publish(tx, known.project_id, 'calendar_event.updated', calendarEventData(answered))
}

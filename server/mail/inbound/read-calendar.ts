import { parseAddress } from '../address.ts'
import { type Component, childrenOf, firstProperty, type Property, readComponents, unescapeText } from './calendar/components.ts'
import { addDuration, readTime } from './calendar/times.ts'

/** What a text/calendar part asks for (RFC 5546 section 1.4). Without a method it is a publication. */
export type CalendarMethod = 'publish' | 'request' | 'reply' | 'cancel' | 'other'

export interface Attendee {
  name: string | null
  address: string
  status: 'needs_action' | 'accepted' | 'declined' | 'tentative' | 'delegated'
  role: 'chair' | 'required' | 'optional' | 'none'
}

export interface CalendarEvent {
  uid: string
  sequence: number
  /** DTSTAMP: of two with the same sequence, the later counts (RFC 5546 section 2.1.5). */
  stamped_at: Date | null
  title: string
  description: string | null
  location: string | null
  organizer: { name: string | null; address: string } | null
  attendees: Attendee[]
  /** Null only in a cancellation or a reply, which need not say it. A day begins at midnight UTC. */
  starts_at: Date | null
  ends_at: Date | null
  is_all_day: boolean
  timezone: string | null
  /** RRULE as written. */
  recurrence: string | null
  status: 'tentative' | 'confirmed' | 'cancelled'
}

export interface ReadCalendar {
  method: CalendarMethod
  events: CalendarEvent[]
}

const maxText = 1_000_000
const maxEvents = 100
const maxAttendees = 500
const maxUidBytes = 1_000

/**
 * The events of a calendar, as far as they can be read. One occurrence of a series that was moved or cancelled (RECURRENCE-ID) is left
 * out: it must not be taken for the series. Everything else that RFC 5545 knows (alarms, tasks, free time) is passed over.
 */
export function readCalendar(text: string): ReadCalendar[] {
  if (text.length > maxText) return []
  const root = readComponents(text)
  if (!root) return []
  return childrenOf(root, 'VCALENDAR')
    .slice(0, maxEvents)
    .map((calendar) => {
      const method = methodOf(calendar)
      const single = childrenOf(calendar, 'VEVENT').filter((event) => !firstProperty(event, 'RECURRENCE-ID'))
      return { method, events: single.slice(0, maxEvents).flatMap((event) => readEvent(event, calendar, method) ?? []) }
    })
}

const methods: Record<string, CalendarMethod> = { PUBLISH: 'publish', REQUEST: 'request', REPLY: 'reply', CANCEL: 'cancel' }

function methodOf(calendar: Component): CalendarMethod {
  const written = firstProperty(calendar, 'METHOD')?.value.trim().toUpperCase()
  return written === undefined ? 'publish' : (methods[written] ?? 'other')
}

const statuses: Record<string, CalendarEvent['status']> = { TENTATIVE: 'tentative', CANCELLED: 'cancelled' }

/** Null when it lacks what an event cannot be without. */
function readEvent(event: Component, calendar: Component, method: CalendarMethod): CalendarEvent | null {
  const textOf = (name: string, max: number) => shorten(unescapeText(firstProperty(event, name)?.value ?? ''), max)
  // Longer ones are nobody's, and fit into no index: a part of one might be somebody else's.
  const uid = firstProperty(event, 'UID')?.value.trim() ?? ''
  if (uid === '' || Buffer.byteLength(uid) > maxUidBytes || uid.includes('\0')) return null
  const time = timeOf(event, calendar)
  if (!time && (method === 'request' || method === 'publish')) return null
  const stamp = firstProperty(event, 'DTSTAMP')
  const status = statuses[firstProperty(event, 'STATUS')?.value.trim().toUpperCase() ?? '']
  return {
    uid,
    sequence: readSequence(firstProperty(event, 'SEQUENCE')?.value),
    stamped_at: (stamp && readTime(stamp, calendar)?.at) ?? null,
    title: textOf('SUMMARY', 1_000).replace(/\s+/g, ' ') || '(no title)',
    description: textOf('DESCRIPTION', 20_000) || null,
    location: textOf('LOCATION', 1_000) || null,
    organizer: personOf(firstProperty(event, 'ORGANIZER')),
    attendees: event.properties
      .filter(({ name }) => name === 'ATTENDEE')
      .slice(0, maxAttendees)
      .flatMap((property) => attendeeOf(property) ?? []),
    ...(time ?? { starts_at: null, ends_at: null, is_all_day: false, timezone: null }),
    recurrence: shorten(firstProperty(event, 'RRULE')?.value ?? '', 1_000) || null,
    status: status ?? 'confirmed',
  }
}

/** Ends are after the end: an event of one day ends at the midnight that follows it. */
function timeOf(event: Component, calendar: Component): Pick<CalendarEvent, 'starts_at' | 'ends_at' | 'is_all_day' | 'timezone'> | null {
  const written = firstProperty(event, 'DTSTART')
  const start = written && readTime(written, calendar)
  if (!start) return null
  const [end, duration] = [firstProperty(event, 'DTEND'), firstProperty(event, 'DURATION')]
  const found = end ? readTime(end, calendar)?.at : duration ? addDuration(start, duration.value) : null
  // RFC 5545 section 3.6.1: without an end, a day lasts a day, and a moment a moment.
  const fallback = start.isDate ? new Date(start.at.getTime() + 86_400_000) : start.at
  const ends_at = found && found >= start.at ? found : fallback
  return { starts_at: start.at, ends_at, is_all_day: start.isDate, timezone: start.zone.name }
}

const readSequence = (value = ''): number => (/^\d{1,9}$/.test(value.trim()) ? Number(value) : 0)

/** Databases keep no NUL, and no half of a letter. */
const shorten = (text: string, max: number): string => text.replaceAll('\0', '').trim().slice(0, max).toWellFormed()

/** `CN=Ann:mailto:ann@example.org`. Somebody without an address (`invalid:nomail`) is nobody. */
function personOf(property: Property | null): { name: string | null; address: string } | null {
  if (!property) return null
  const [, mailto] = /^mailto:(.+)$/i.exec(property.value.trim()) ?? []
  const parsed = parseAddress(decode(mailto ?? property.params.get('EMAIL') ?? ''))
  if (!parsed.ok) return null
  const name = shorten((property.params.get('CN') ?? '').replace(/\s+/g, ' '), 200)
  return { name: name === '' || name === parsed.value.address ? null : name, address: parsed.value.address }
}

/** A mailto: URI escapes what is not ASCII (RFC 6068). */
function decode(address: string): string {
  try {
    return decodeURIComponent(address)
  } catch {
    // A percent sign that escapes nothing is itself.
    return address
  }
}

const partStatuses: Record<string, Attendee['status']> = {
  ACCEPTED: 'accepted',
  DECLINED: 'declined',
  TENTATIVE: 'tentative',
  DELEGATED: 'delegated',
}
const roles: Record<string, Attendee['role']> = { CHAIR: 'chair', 'OPT-PARTICIPANT': 'optional', 'NON-PARTICIPANT': 'none' }

function attendeeOf(property: Property): Attendee | null {
  const person = personOf(property)
  if (!person) return null
  return {
    ...person,
    status: partStatuses[property.params.get('PARTSTAT')?.toUpperCase() ?? ''] ?? 'needs_action',
    role: roles[property.params.get('ROLE')?.toUpperCase() ?? ''] ?? 'required',
  }
}

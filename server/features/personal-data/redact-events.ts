import type { Database, Transaction } from '../../database/database.ts'
import type { EventRow } from '../../events/expand-events.ts'
import type { Bulk, LooseBulk } from '../../events/publish.ts'
import { blank, erasedAddress, type Person } from './person.ts'
import { eventKeysAbout, namesOf } from './person-events.ts'

/**
 * Takes somebody out of the events that the outbox still holds. That something happened stays, and to which ids. Each row is read under a
 * lock: it may tell of somebody else, too, whom another process erases in this moment.
 */
export async function redactEvents(database: Database, person: Person): Promise<void> {
  const isTheirs = namesOf(person)
  for await (const { project_id, id } of eventKeysAbout(database, person))
    await database.transaction(async (tx) => {
      const row = await tx.first<EventRow>`select * from events where project_id = ${project_id} and id = ${id} for update`
      if (row) await saveEvent(tx, redact(row, isTheirs))
    })
}

const saveEvent = (tx: Transaction, { project_id, id, data, items }: EventRow) => tx.run`
  update events set data = ${data && JSON.stringify(data)}, items = ${items && JSON.stringify(items)} where project_id = ${project_id} and id = ${id}`

type IsTheirs = (value: unknown) => boolean

export const redact = (row: EventRow, isTheirs: IsTheirs): EventRow => ({
  ...row,
  data: row.data && redactData(row.data, theirsIn(row, isTheirs)),
  items: row.items && (isLoose(row.items) ? redactEach(row.type, row.items, isTheirs) : redactBulk(row.items, isTheirs)),
})

const byThem = new Set<string>(['email.received', 'email.replied'])

/** Of mail with them, one side is theirs: they may have had an address then that is not known any more. */
function theirsIn({ type, data }: Pick<EventRow, 'type' | 'data'>, isTheirs: IsTheirs): IsTheirs {
  const side = data && isTheirs(data.contact_id) ? data[byThem.has(type) ? 'from' : 'to'] : null
  return (value) => isTheirs(value) || (typeof side === 'string' && value === side)
}

const { email, name } = blank
const wordsOfMail = { subject: null, message_id: null, tag: null, metadata: {} }

function redactData(data: Record<string, unknown>, isTheirs: IsTheirs): Record<string, unknown> {
  const redacted = { ...data }
  // In a project that was merged into theirs they were another contact, with the same address.
  const isAboutThem = [data.contact_id, addressIn(data.contact), addressIn(data.subscriber)].some(isTheirs)
  if (isAboutThem && data.contact) redacted.contact = { ...(data.contact as object), ...blank }
  if (isAboutThem && data.subscriber) redacted.subscriber = { ...(data.subscriber as object), email, name }
  // `from` and `to` are in events of mail alone.
  if (typeof data.to === 'string' && (isAboutThem || isTheirs(data.from) || isTheirs(data.to)))
    Object.assign(redacted, wordsOfMail, redactMail(data, isTheirs))
  if (data.calendar_event) Object.assign(redacted, redactInvitation(data.calendar_event as Invitation, isTheirs))
  for (const side of ['from', 'to']) if (isTheirs(data[side])) redacted[side] = erasedAddress
  return redacted
}

const addressIn = (told: unknown): unknown => (told as { email?: unknown } | null | undefined)?.email

/** Whatever the mail says, and what servers said of it: both may name them. */
const wordsOfEmail = {
  ...wordsOfMail,
  provider_message_id: null,
  in_reply_to: null,
  reply_to: null,
  from_name: null,
  text_body: null,
  html_body: null,
  extracted_data: null,
  attachments: [],
  tags: null,
  reason: null,
}

function redactMail({ email, bounce }: Record<string, unknown>, isTheirs: IsTheirs): object {
  const redacted: Record<string, unknown> = {}
  if (email) {
    const told = email as Record<string, unknown>
    const blanked = Object.entries(wordsOfEmail).filter(([field]) => field in told)
    const sides = ['from', 'to', 'from_address', 'to_address'].filter((side) => isTheirs(told[side]))
    redacted.email = { ...told, ...Object.fromEntries(blanked), ...Object.fromEntries(sides.map((side) => [side, erasedAddress])) }
  }
  if (bounce) redacted.bounce = { ...(bounce as object), reason: null }
  return redacted
}

interface Invitation {
  organizer: { address: string } | null
  attendees: { address: string }[]
}

/** What they invited to is theirs; of what they were invited to, they are one of many. */
function redactInvitation(invitation: Invitation, isTheirs: IsTheirs): object {
  if (isTheirs(invitation.organizer?.address)) return { title: '', calendar_event: null }
  return { calendar_event: { ...invitation, attendees: invitation.attendees.filter(({ address }) => !isTheirs(address)) } }
}

const isLoose = (items: Bulk | LooseBulk): items is LooseBulk => items.template === '$0'

const redactEach = (type: EventRow['type'], { template, rows }: LooseBulk, isTheirs: IsTheirs): LooseBulk => ({
  template,
  rows: rows.map(([data]) => [redactData(data, theirsIn({ type, data }, isTheirs))]),
})

/** What is written in place of what the rows of a bulk say, by the name that the template has for it. */
const inPlaceOf: Record<string, string | null> = {
  email: null,
  name: null,
  country: null,
  city: null,
  timezone: null,
  from: erasedAddress,
  to: erasedAddress,
  message_id: null,
  reason: null,
}

function redactBulk({ template, rows }: Bulk, isTheirs: IsTheirs): Bulk {
  const words = placesIn(template)
  return {
    template,
    rows: rows.map((row) =>
      row.some(isTheirs) ? row.map((value, place) => (words.has(place) ? (words.get(place) ?? null) : value)) : row,
    ),
  }
}

/** `{ subscriber: { email: '$2' } }`: the third value of each row is an address. */
function placesIn(template: object): Map<number, string | null> {
  const places = new Map<number, string | null>()
  for (const [key, value] of Object.entries(template)) {
    const place = typeof value === 'string' ? /^\$(\d+)$/.exec(value)?.[1] : undefined
    if (place !== undefined && key in inPlaceOf) places.set(Number(place), inPlaceOf[key] as string | null)
    if (typeof value === 'object' && value !== null) for (const [inner, word] of placesIn(value)) places.set(inner, word)
  }
  return places
}

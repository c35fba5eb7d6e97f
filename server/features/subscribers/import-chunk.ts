import { notFound } from '../../base/errors.ts'
import { type ContactId, formatId, newId, type SubscriberId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { type Bulk, publishBulk } from '../../events/publish.ts'
import { changeContactCount, nameContacts } from '../contacts/index.ts'
import { changeCounts, holdList, type ListKey } from '../lists/index.ts'
import { findSuppressions } from '../suppressions/index.ts'
import { enterLine } from '../waiting-lines/index.ts'
import type { SubscriberStatus } from './subscriber.ts'

/** One line of an import whose address is well-formed. */
export interface ImportRow {
  line: number
  email: string
  email_key: string
  name: string | null
}

export interface Refusal {
  line: number
  email: string
  reason: string
}

interface Placed extends ImportRow {
  id: SubscriberId
  contact_id: ContactId
}

/**
 * Puts some thousand addresses on a list with two inserts. Whoever is there already is left alone, and said. Rows are sorted by
 * address, so that two imports of the same people meet in the same order and do not lock each other out. On a waitlist they stand in the
 * order of the lines.
 */
export async function importChunk(
  tx: Transaction,
  { isWaitlist, ...key }: ListKey & { isWaitlist: boolean },
  rows: ImportRow[],
): Promise<{ imported: number; refused: Refusal[] }> {
  if (!(await holdList(tx, key))) throw notFound('list')
  const suppressed = await findSuppressions(
    tx,
    key.project_id,
    rows.map((row) => row.email_key),
  )
  const welcome = rows.filter((row) => !suppressed.has(row.email_key)).sort((a, b) => (a.email_key < b.email_key ? -1 : 1))
  const placed = welcome.map((row): Placed => Object.assign(row, { id: newId<'sub'>(), contact_id: newId<'con'>() }))

  const isNewContact = await insertContacts(tx, key, placed)
  const met = placed.filter((row) => isNewContact(row.contact_id))
  await adoptExistingContacts(
    tx,
    key,
    placed.filter((row) => !isNewContact(row.contact_id)),
  )
  const isAdded = await insertSubscribers(tx, key, placed)
  const added = placed.filter((row) => isAdded(row.id))
  const present = placed.filter((row) => !isAdded(row.id))

  await publishBulk(tx, key.project_id, 'contact.created', contactEvents(tx.now, met))
  await publishBulk(tx, key.project_id, 'subscriber.created', subscriberEvents(key, tx.now, added))
  const refused = [
    ...rows
      .filter((row) => suppressed.has(row.email_key))
      .map((row) => refuse(row, `is suppressed in this project (${suppressed.get(row.email_key)})`)),
    ...(await sayWhyPresent(tx, key, present)),
  ]
  if (met.length > 0) await changeContactCount(tx, key.project_id, met.length)
  if (added.length > 0) await changeCounts(tx, key, { active: added.length })
  if (isWaitlist)
    await enterLine(
      tx,
      key,
      added.toSorted((a, b) => a.line - b.line).map(({ id }) => ({ subscriber_id: id, is_confirmed: true })),
    )
  return { imported: added.length, refused }
}

export const refuse = ({ line, email }: { line: number; email: string }, reason: string): Refusal => ({ line, email, reason })

/**
 * A column as one string, split again by the server: a profile showed the driver's escaping of array elements at twice the cost of all
 * our own work. No value holds a line break: addresses cannot, and names are brought to one line.
 */
const column = (rows: Placed[], cellOf: (row: Placed) => string | null): string => rows.map((row) => cellOf(row) ?? '').join('\n')
const split = (text: string) => sql`string_to_array(${text}, E'\n')`

/** The ids that were taken, or null for "all": the usual answer of an import, and not worth thousands of rows on the way back. */
interface Taken<Id> {
  ids: Id[] | null
}
const isIn = <Id>({ ids }: Taken<Id>): ((id: Id) => boolean) => {
  const taken = ids && new Set(ids)
  return (id) => taken === null || taken.has(id)
}
const takenOf = (rows: Placed[]) =>
  sql`select case when count(*) < ${rows.length} then coalesce(array_agg(id), '{}') end as ids from inserted`

async function insertContacts(tx: Transaction, key: ListKey, rows: Placed[]): Promise<(id: ContactId) => boolean> {
  const taken = await tx.first<Taken<ContactId>>`with inserted as (
    insert into contacts (project_id, id, email, email_key, name, created_at, updated_at)
    select ${key.project_id}, row.id, row.email, row.email_key, nullif(row.name, ''), ${tx.now}, ${tx.now}
    from unnest(${split(column(rows, (row) => row.contact_id))}::uuid[], ${split(column(rows, (row) => row.email))},
      ${split(column(rows, (row) => row.email_key))}, ${split(column(rows, (row) => row.name))}) as row (id, email, email_key, name)
    on conflict (project_id, email_key) do nothing
    returning id) ${takenOf(rows)}`
  return isIn(taken as Taken<ContactId>)
}

/** Statements of their own, so that they see contacts which another import committed while ours waited for them. */
async function adoptExistingContacts(tx: Transaction, key: ListKey, rows: Placed[]): Promise<void> {
  if (rows.length === 0) return
  const existing = await tx.many<{ id: ContactId; email_key: string; name: string | null }>`
    select id, email_key, name from contacts where project_id = ${key.project_id} and email_key = any(${rows.map((row) => row.email_key)})`
  const contactOf = new Map(existing.map((contact) => [contact.email_key, contact]))
  const named: { id: ContactId; name: string }[] = []
  for (const row of rows) {
    const contact = contactOf.get(row.email_key)
    if (!contact) continue
    row.contact_id = contact.id
    if (contact.name === null && row.name !== null) named.push({ id: contact.id, name: row.name })
  }
  // Who had no name until now has one: search looks for people by it.
  await nameContacts(tx, key.project_id, named)
}

async function insertSubscribers(tx: Transaction, key: ListKey, rows: Placed[]): Promise<(id: SubscriberId) => boolean> {
  const taken = await tx.first<Taken<SubscriberId>>`with inserted as (
    insert into subscribers (project_id, list_id, id, contact_id, email, email_key, name, status, source, subscribed_at, created_at, activation)
    select ${key.project_id}, ${key.list_id}, row.id, row.contact_id, row.email, row.email_key, nullif(row.name, ''), 'active', 'import', ${tx.now}, ${tx.now},
      (select nextval('activations'))
    from unnest(${split(column(rows, (row) => row.id))}::uuid[], ${split(column(rows, (row) => row.contact_id))}::uuid[],
      ${split(column(rows, (row) => row.email))}, ${split(column(rows, (row) => row.email_key))}, ${split(column(rows, (row) => row.name))})
      as row (id, contact_id, email, email_key, name)
    on conflict (project_id, list_id, email_key) do nothing
    returning id) ${takenOf(rows)}`
  return isIn(taken as Taken<SubscriberId>)
}

const presentReasons: Record<SubscriberStatus, string> = {
  active: 'is on this list already',
  pending: 'is on this list already and has not confirmed yet',
  unsubscribed: 'has unsubscribed from this list; only they can come back',
  bounced: 'has bounced on this list',
}

async function sayWhyPresent(tx: Transaction, key: ListKey, rows: Placed[]): Promise<Refusal[]> {
  if (rows.length === 0) return []
  const found = await tx.many<{ email_key: string; status: SubscriberStatus }>`
    select email_key, status from subscribers
    where project_id = ${key.project_id} and list_id = ${key.list_id} and email_key = any(${rows.map((row) => row.email_key)})`
  const statusOf = new Map(found.map((row) => [row.email_key, row.status]))
  return rows.map((row) => refuse(row, presentReasons[statusOf.get(row.email_key) ?? 'active']))
}

/** On the wire these are the same events that a single addition publishes: `$n` stands for the n-th value of a row. */
const subscriberEvents = (key: ListKey, now: Date, rows: Placed[]): Bulk => ({
  template: {
    subscriber_id: '$0',
    list_id: formatId('lst', key.list_id),
    contact_id: '$1',
    subscriber: { id: '$0', email: '$2', name: '$3', status: 'active', source: 'import', subscribed_at: now, created_at: now },
  },
  rows: rows.map((row) => [formatId('sub', row.id), formatId('con', row.contact_id), row.email, row.name]),
})

const blankContact = { notes: null, org: null, job_title: null, tags: [], metadata: {}, country: null, city: null, timezone: null }
const noTotals = { total_received: 0, total_opens: 0, total_clicks: 0, total_replies: 0, last_activity_at: null }

const contactEvents = (now: Date, rows: Placed[]): Bulk => ({
  template: {
    contact_id: '$0',
    contact: { id: '$0', kind: 'person', email: '$1', name: '$2', ...blankContact, ...noTotals, created_at: now, updated_at: now },
  },
  rows: rows.map((row) => [formatId('con', row.contact_id), row.email, row.name]),
})

import { type ContactId, formatId, type ProjectId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { type Bulk, publishBulk, publishEach } from '../../events/publish.ts'
import { type ContactDetail, type ContactRow, contactEventData } from './contact.ts'
import { contactColumns } from './contact-queries.ts'

interface Named {
  id: ContactId
  name: string
}

/** Names for thousands who have none. Who has got one in the meantime keeps it. */
export async function nameContacts(tx: Transaction, project_id: ProjectId, people: Named[]): Promise<void> {
  if (people.length === 0) return
  const named = await saveNames(tx, project_id, people)
  const { known = [], plain = [] } = Object.groupBy(named, (contact) => (isPlain(contact) ? 'plain' : 'known'))
  await publishBulk(tx, project_id, 'contact.updated', bulkOf(tx.now, plain))
  await publishEach(
    tx,
    known.map((contact) => ({ project_id, type: 'contact.updated', data: contactEventData(contact) })),
  )
}

/** Taken by their ids: two imports of the same people take turns, and never in a circle. */
const saveNames = (tx: Transaction, project_id: ProjectId, people: Named[]) => tx.many<ContactRow>`
  update contacts c set name = held.new_name, updated_at = ${tx.now}
  from (
    select nameless.id, row.name as new_name
    from unnest(${people.map(({ id }) => id)}::uuid[], ${people.map(({ name }) => name)}::text[]) as row (id, name)
    join contacts nameless on nameless.project_id = ${project_id} and nameless.id = row.id
    where nameless.name is null
    order by nameless.id for no key update of nameless
  ) held
  where c.project_id = ${project_id} and c.id = held.id
  returning ${contactColumns}`

/** What is written of somebody is in an event of their own, where it is found when they are erased: the rows of a bulk are words. */
const isPlain = ({ notes, org, job_title, labels, metadata }: ContactRow): boolean =>
  notes === null && org === null && job_title === null && labels.length === 0 && Object.keys(metadata).length === 0

/** The same data that `contactEventData` gives of one. */
function bulkOf(now: Date, plain: ContactRow[]): Bulk {
  const contact = {
    id: '$0',
    kind: '$1',
    email: '$2',
    name: '$3',
    notes: null,
    org: null,
    job_title: null,
    tags: [],
    metadata: {},
    country: '$4',
    city: '$5',
    timezone: '$6',
    total_received: '$#7',
    total_opens: '$#8',
    total_clicks: '$#9',
    total_replies: '$#10',
    last_activity_at: '$11',
    created_at: '$12',
    updated_at: now,
  } satisfies Record<keyof typeof ContactDetail.shape, unknown>
  return { template: { contact_id: '$0', contact }, rows: plain.map(wordsOf) }
}

const wordsOf = (row: ContactRow): (string | null)[] => [
  formatId('con', row.id),
  row.kind,
  row.email,
  row.name,
  row.country,
  row.city,
  row.timezone,
  row.total_received.toString(),
  row.total_opens.toString(),
  row.total_clicks.toString(),
  row.total_replies.toString(),
  row.last_activity_at?.toISOString() ?? null,
  row.created_at.toISOString(),
]

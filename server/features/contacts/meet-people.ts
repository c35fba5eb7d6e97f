import { type ContactId, newId, type ProjectId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import type { ContactRow } from './contact.ts'
import { countedContacts } from './contact-counter.ts'
import { contactColumns } from './contact-queries.ts'

export interface Met {
  project_id: ProjectId
  email: { address: string; key: string }
  name: string | null
}

/** Contacts for whoever has none yet, in one statement. Answers those that were made; who was known stays as they are. */
export function meetPeople(tx: Transaction, people: Met[]): Promise<ContactRow[]> {
  const rows = people.map(({ project_id, email, name }) => ({
    project_id,
    id: newId<'con'>(),
    email: email.address,
    email_key: email.key,
    name,
  }))
  // In one order: two batches that meet the same people take turns, and never in a circle.
  return tx.many<ContactRow>`
    with made as (
      insert into contacts as c (project_id, id, email, email_key, name, created_at, updated_at)
      select project_id, id, email, email_key, name, ${tx.now}, ${tx.now}
      from json_to_recordset(${JSON.stringify(rows)}) as met (project_id uuid, id uuid, email text, email_key text, name text)
      order by project_id, email_key
      on conflict (project_id, email_key) do nothing
      returning ${contactColumns}
    ), ${countedContacts}
    select * from made`
}

type AddressKey = Pick<Met, 'project_id'> & { email_key: string }

/**
 * Whose address it is, as far as they are contacts. Who is being erased is waited for and not there any more; who is found is erased after this transaction, with
 * what it writes of them.
 */
export async function holdContactsByAddress(tx: Transaction, keys: AddressKey[]): Promise<(key: AddressKey) => ContactId | null> {
  const held = keys.length > 0 ? await holdContacts(tx, keys) : []
  const ids = new Map(held.map(({ project_id, email_key, id }) => [`${project_id} ${email_key}`, id]))
  return ({ project_id, email_key }) => ids.get(`${project_id} ${email_key}`) ?? null
}

/** By either half of the key, which an index answers whatever is known of the table: a stranger's pair may come along, is held, too, and does no harm. */
const holdContacts = (tx: Transaction, keys: AddressKey[]) => tx.many<AddressKey & { id: ContactId }>`
  select project_id, id, email_key from contacts
  where project_id = any(${[...new Set(keys.map(({ project_id }) => project_id))]}::uuid[]) and email_key = any(${keys.map(({ email_key }) => email_key)}::text[])
  order by project_id, email_key for key share`

export interface Heard {
  project_id: ProjectId
  id: ContactId
  /** How many of their mails answer one of ours. */
  replies: number
  at: Date
}

/** Who has written, counted once for each contact. */
export const noteWriting = (tx: Transaction, heard: Heard[]) => tx.run`
  with heard as (
    select * from jsonb_to_recordset(${JSON.stringify(heard)}::jsonb) as h (project_id uuid, id uuid, replies integer, at timestamptz)
  ), held as (
    select c.project_id, c.id from contacts c join heard h on h.project_id = c.project_id and h.id = c.id
    order by c.project_id, c.id for no key update of c
  )
  update contacts c set total_replies = c.total_replies + h.replies, last_activity_at = greatest(c.last_activity_at, h.at)
  from heard h join held on held.project_id = h.project_id and held.id = h.id
  where c.project_id = h.project_id and c.id = h.id`

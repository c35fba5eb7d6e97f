import { type ContactId, newId, type ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import type { ContactRow } from './contact.ts'

export const findContact = (db: Queryable, project_id: ProjectId, id: ContactId) => db.first<ContactRow>`
  select * from contacts where project_id = ${project_id} and id = ${id}`

export const contactExists = async (
  db: Queryable,
  { project_id, contact_id }: { project_id: ProjectId; contact_id: ContactId },
): Promise<boolean> => (await db.first`select 1 from contacts where project_id = ${project_id} and id = ${contact_id}`) !== null

export const lockContactByEmail = (tx: Transaction, project_id: ProjectId, email_key: string) => tx.first<ContactRow>`
  select * from contacts where project_id = ${project_id} and email_key = ${email_key} for update`

interface NewContact {
  project_id: ProjectId
  email: string
  email_key: string
  name: string | null
}

/** Null when the address got its contact in the meantime. */
export const insertContact = (tx: Transaction, contact: NewContact) => tx.first<ContactRow>`
  insert into contacts (project_id, id, email, email_key, name, created_at, updated_at)
  values (${contact.project_id}, ${newId<'con'>()}, ${contact.email}, ${contact.email_key}, ${contact.name}, ${tx.now}, ${tx.now})
  on conflict (project_id, email_key) do nothing
  returning *`

export const saveContact = (tx: Transaction, contact: ContactRow) => tx.first<ContactRow>`
  update contacts set name = ${contact.name}, notes = ${contact.notes}, org = ${contact.org}, job_title = ${contact.job_title},
    labels = ${contact.labels}, metadata = ${JSON.stringify(contact.metadata)}, updated_at = ${tx.now}
  where project_id = ${contact.project_id} and id = ${contact.id}
  returning *`

export const lockContact = (tx: Transaction, project_id: ProjectId, id: ContactId) => tx.first<ContactRow>`
  select * from contacts where project_id = ${project_id} and id = ${id} for update`

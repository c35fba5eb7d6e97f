import { type ContactId, newId, type ProjectId, type UserId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import type { ContactRow } from './contact.ts'
import { countedContacts } from './contact-counter.ts'

/**
 * Mail that reached a contact `c`: what the ledgers of posts and of mailboxes have, and, stored, what they have forgotten. Counted when
 * it is asked for: a post to a million readers would otherwise rewrite a million contacts, and a bounce that comes later would have to
 * find its way back.
 */
export const received = sql`(c.total_received
  + (select count(*) from deliveries d where d.project_id = c.project_id and d.contact_id = c.id and d.status in ('delivered', 'complained'))
  + (select count(*) from emails e where e.project_id = c.project_id and e.to_key = c.email_key
      and e.direction = 'outbound' and e.status not in ('sending', 'failed', 'bounced')))::integer`

/** A `ContactRow` of the contact `c`. */
export const contactColumns = sql`
  c.project_id, c.id, c.kind, c.email, c.email_key, c.name, c.notes, c.org, c.job_title, c.labels, c.metadata, c.country, c.city, c.timezone,
  ${received} as total_received, c.total_opens, c.total_clicks, c.total_replies, c.last_activity_at, c.created_at, c.updated_at`

export const findContact = (db: Queryable, project_id: ProjectId, id: ContactId) => db.first<ContactRow>`
  select ${contactColumns} from contacts c where c.project_id = ${project_id} and c.id = ${id}`

export const contactExists = async (
  db: Queryable,
  { project_id, contact_id }: { project_id: ProjectId; contact_id: ContactId },
): Promise<boolean> => (await db.first`select 1 from contacts where project_id = ${project_id} and id = ${contact_id}`) !== null

export const lockContactByEmail = (tx: Transaction, project_id: ProjectId, email_key: string) => tx.first<ContactRow>`
  select ${contactColumns} from contacts c where c.project_id = ${project_id} and c.email_key = ${email_key} for update of c`

interface NewContact {
  project_id: ProjectId
  email: string
  email_key: string
  name: string | null
}

/** Null when the address got its contact in the meantime. */
export const insertContact = (tx: Transaction, contact: NewContact) => tx.first<ContactRow>`
  with made as (
    insert into contacts as c (project_id, id, email, email_key, name, created_at, updated_at)
    values (${contact.project_id}, ${newId<'con'>()}, ${contact.email}, ${contact.email_key}, ${contact.name}, ${tx.now}, ${tx.now})
    on conflict (project_id, email_key) do nothing
    returning ${contactColumns}
  ), ${countedContacts}
  select * from made`

interface Agent {
  project_id: ProjectId
  agent_id: UserId
  name: string | null
}

/** Null when the agent has a contact here. Waits for whoever is making it at this moment. */
export const insertAgentContact = (tx: Transaction, { project_id, agent_id, name }: Agent) => tx.first<ContactRow>`
  with made as (
    insert into contacts as c (project_id, id, kind, agent_id, name, created_at, updated_at)
    values (${project_id}, ${newId<'con'>()}, 'agent', ${agent_id}, ${name}, ${tx.now}, ${tx.now})
    on conflict (project_id, agent_id) where agent_id is not null do nothing
    returning ${contactColumns}
  ), ${countedContacts}
  select * from made`

export const lockAgentContact = (tx: Transaction, { project_id, agent_id }: Pick<Agent, 'project_id' | 'agent_id'>) => tx.first<ContactRow>`
  select ${contactColumns} from contacts c where c.project_id = ${project_id} and c.agent_id = ${agent_id} for update of c`

export const saveContact = (tx: Transaction, contact: ContactRow) => tx.first<ContactRow>`
  update contacts c set name = ${contact.name}, notes = ${contact.notes}, org = ${contact.org}, job_title = ${contact.job_title},
    labels = ${contact.labels}, metadata = ${JSON.stringify(contact.metadata)}, updated_at = ${tx.now}
  where c.project_id = ${contact.project_id} and c.id = ${contact.id}
  returning ${contactColumns}`

export const lockContact = (tx: Transaction, project_id: ProjectId, id: ContactId) => tx.first<ContactRow>`
  select ${contactColumns} from contacts c where c.project_id = ${project_id} and c.id = ${id} for update of c`

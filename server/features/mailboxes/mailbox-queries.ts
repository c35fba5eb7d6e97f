import { type ListId, type MailboxId, newId, type ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import type { MailboxRow } from './mailbox.ts'

export const findMailbox = (db: Queryable, project_id: ProjectId, id: MailboxId) => db.first<MailboxRow>`
  select * from mailboxes where project_id = ${project_id} and id = ${id} and deleted_at is null`

export const findMailboxByAddress = (db: Queryable, project_id: ProjectId, address_key: string) => db.first<MailboxRow>`
  select * from mailboxes where project_id = ${project_id} and address_key = ${address_key} and deleted_at is null`

export const insertListMailbox = async (
  tx: Transaction,
  mailbox: { project_id: ProjectId; list_id: ListId; address: string; name: string },
): Promise<MailboxRow> => {
  const [row] = await tx.many<MailboxRow>`
    insert into mailboxes (project_id, id, address, address_key, name, type, status, list_id, created_at, updated_at)
    values (${mailbox.project_id}, ${newId<'mbx'>()}, ${mailbox.address}, ${mailbox.address.toLowerCase()}, ${mailbox.name}, 'persistent', 'active', ${mailbox.list_id}, ${tx.now}, ${tx.now})
    returning *`
  return row! // an insert that does not throw returns its row
}

/** The mailbox that an agent is given when it registers. */
export const insertAgentMailbox = async (
  tx: Transaction,
  mailbox: { project_id: ProjectId; address: string; name: string },
): Promise<MailboxRow> => {
  const [row] = await tx.many<MailboxRow>`
    insert into mailboxes (project_id, id, address, address_key, name, type, status, created_at, updated_at)
    values (${mailbox.project_id}, ${newId<'mbx'>()}, ${mailbox.address}, ${mailbox.address.toLowerCase()}, ${mailbox.name}, 'persistent', 'active', ${tx.now}, ${tx.now})
    returning *`
  return row! // an insert that does not throw returns its row
}

/** By anybody's mailbox, or by somebody who signs in with it or is invited by it: who had that mailbox would get their codes. */
export const isAddressUsed = async (db: Queryable, address_key: string): Promise<boolean> =>
  (await db.first`
    select 1 from mailboxes where address_key = ${address_key} and deleted_at is null
    union all select 1 from users where email_key = ${address_key}
    union all select 1 from invites where email_key = ${address_key} and status = 'pending'`) !== null

export const markMailboxDeleted = (tx: Transaction, project_id: ProjectId, id: MailboxId) => tx.first<MailboxRow>`
  update mailboxes set deleted_at = ${tx.now}, status = 'disabled'
  where project_id = ${project_id} and id = ${id} and deleted_at is null
  returning *`

import { type ContactId, newId, type ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import type { ContactGroupId, ContactGroupRow } from './contact-group.ts'

interface GroupKey {
  project_id: ProjectId
  id: ContactGroupId
}

/** In the order of the alphabet. */
export const pageGroups = (
  db: Queryable,
  { project_id, after, limit }: { project_id: ProjectId; after: string | null; limit: number },
) => db.many<ContactGroupRow>`
  select * from contact_groups where project_id = ${project_id} ${after === null ? nothing : sql`and lower(name) > lower(${after})`}
  order by lower(name) limit ${limit}`

export const findGroup = (db: Queryable, { project_id, id }: GroupKey) => db.first<ContactGroupRow>`
  select * from contact_groups where project_id = ${project_id} and id = ${id}`

export const lockGroup = (tx: Transaction, { project_id, id }: GroupKey) => tx.first<ContactGroupRow>`
  select * from contact_groups where project_id = ${project_id} and id = ${id} for update`

export async function countGroups(db: Queryable, project_id: ProjectId): Promise<number> {
  const counted = await db.first<{ count: number }>`select count(*) as count from contact_groups where project_id = ${project_id}`
  return counted?.count ?? 0
}

/** Null when another group has the name. */
export const insertGroup = (
  tx: Transaction,
  { project_id, name }: Pick<ContactGroupRow, 'project_id' | 'name'>,
) => tx.first<ContactGroupRow>`
  insert into contact_groups (project_id, id, name, created_at, updated_at) values (${project_id}, ${newId<'grp'>()}, ${name}, ${tx.now}, ${tx.now})
  on conflict (project_id, lower(name)) do nothing
  returning *`

export const isNameTaken = async (db: Queryable, { project_id, id }: GroupKey, name: string): Promise<boolean> =>
  (await db.first`select 1 from contact_groups where project_id = ${project_id} and lower(name) = lower(${name}) and id <> ${id}`) !== null

export const renameGroup = (tx: Transaction, { project_id, id }: GroupKey, name: string) => tx.first<ContactGroupRow>`
  update contact_groups set name = ${name}, updated_at = ${tx.now} where project_id = ${project_id} and id = ${id} returning *`

export async function removeGroup(tx: Transaction, { project_id, id }: GroupKey): Promise<void> {
  await tx.run`delete from contact_group_members where project_id = ${project_id} and group_id = ${id}`
  await tx.run`delete from contact_groups where project_id = ${project_id} and id = ${id}`
}

/** Of these ids, the contacts that there are. They are held: nobody who is being erased comes into a group. */
export const holdContacts = (tx: Transaction, project_id: ProjectId, ids: ContactId[]) => tx.many<{ id: ContactId }>`
  select id from contacts where project_id = ${project_id} and id = any(${ids}::uuid[]) order by id for key share`

/** Of these contacts, how many were not in the group. */
export const insertMembers = (tx: Transaction, { project_id, id }: GroupKey, contacts: ContactId[]) => tx.run`
  insert into contact_group_members (project_id, group_id, contact_id, added_at)
  select ${project_id}, ${id}, contact_id, ${tx.now} from unnest(${contacts}::uuid[]) as contact_id
  on conflict do nothing`

export const removeMember = (tx: Transaction, { project_id, id }: GroupKey, contact_id: ContactId) => tx.run`
  delete from contact_group_members where project_id = ${project_id} and group_id = ${id} and contact_id = ${contact_id}`

export const addToCount = async (tx: Transaction, { project_id, id }: GroupKey, more: number): Promise<ContactGroupRow> =>
  (await tx.first<ContactGroupRow>`
    update contact_groups set contact_count = contact_count + ${more}, updated_at = ${tx.now} where project_id = ${project_id} and id = ${id}
    returning *`) as ContactGroupRow // locked before

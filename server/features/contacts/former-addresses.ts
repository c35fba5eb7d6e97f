import type { ContactId, ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import type { ContactRow } from './contact.ts'

export interface FormerAddress {
  email: string
  email_key: string
}

/** Before it changes. One that they had before and have again is former no more. */
export async function keepFormerAddress(
  tx: Transaction,
  { project_id, id, email, email_key }: ContactRow,
  next_key: string,
): Promise<void> {
  await tx.run`delete from former_addresses where project_id = ${project_id} and contact_id = ${id} and email_key = ${next_key}`
  await tx.run`
    insert into former_addresses (project_id, email_key, contact_id, email, left_at) values (${project_id}, ${email_key}, ${id}, ${email}, ${tx.now})
    on conflict (project_id, email_key) do update set contact_id = excluded.contact_id, email = excluded.email, left_at = excluded.left_at`
}

/** Of `f`: who subscribes with an address that was another's is not that other. */
const isNobodyElses = sql`not exists (
  select 1 from contacts c where c.project_id = f.project_id and c.email_key = f.email_key and c.id <> f.contact_id)`

interface ContactKey {
  project_id: ProjectId
  contact_id: ContactId
}

/** Those that nobody else has by now, by which what is theirs is found; the oldest first. */
export const formerAddresses = (db: Queryable, { project_id, contact_id }: ContactKey) => db.many<FormerAddress>`
  select f.email, f.email_key from former_addresses f
  where f.project_id = ${project_id} and f.contact_id = ${contact_id} and ${isNobodyElses} order by f.left_at, f.email_key`

/** All of them, for whoever had them to read. */
export const formerAddressesToShow = (db: Queryable, { project_id, contact_id }: ContactKey) => db.many<{ email: string; left_at: Date }>`
  select email, left_at from former_addresses where project_id = ${project_id} and contact_id = ${contact_id} order by left_at, email_key`

/** Of somebody who is to be forgotten. That others had the same address before them is forgotten, too. */
export const takeFormerAddresses = (tx: Transaction, { project_id, id, email_key }: ContactRow) => tx.many<FormerAddress>`
  with f as (delete from former_addresses where project_id = ${project_id} and (contact_id = ${id} or email_key = ${email_key}) returning *)
  select email, email_key from f where contact_id = ${id} and ${isNobodyElses} order by left_at, email_key`

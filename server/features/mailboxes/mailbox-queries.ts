import { type ListId, type MailboxId, newId, type ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { holdName } from '../../database/hold-name.ts'
import { likePattern } from '../../database/search.ts'
import { type Fragment, nothing, sql } from '../../database/sql.ts'
import type { MailboxRow } from './mailbox.ts'

export const findMailbox = (db: Queryable, project_id: ProjectId, id: MailboxId) => db.first<MailboxRow>`
  select * from mailboxes where project_id = ${project_id} and id = ${id} and deleted_at is null`

/** Held until the transaction ends, so that two changes of one mailbox take turns. */
export const lockMailbox = (tx: Transaction, project_id: ProjectId, id: MailboxId) => tx.first<MailboxRow>`
  select * from mailboxes where project_id = ${project_id} and id = ${id} and deleted_at is null for update`

export const findMailboxByAddress = (db: Queryable, project_id: ProjectId, address_key: string) => db.first<MailboxRow>`
  select * from mailboxes where project_id = ${project_id} and address_key = ${address_key} and deleted_at is null`

export interface MailboxFilter {
  project_id: ProjectId
  status?: MailboxRow['status'] | undefined
  type?: MailboxRow['type'] | undefined
  search?: string | undefined
  after: string | null
  limit: number
}

export interface ListedMailbox extends MailboxRow {
  /** It is a list's own, and goes with the list. */
  is_list_address: boolean
}

/** Newest first, after the mailbox `after`. */
export const pageMailboxes = (db: Queryable, { project_id, status, type, search, after, limit }: MailboxFilter) => db.many<ListedMailbox>`
  select *, id in (select mailbox_id from lists where project_id = ${project_id} and deleted_at is null) as is_list_address
  from mailboxes
  where project_id = ${project_id} and deleted_at is null ${after === null ? nothing : sql`and id < ${after}`}
    ${status === undefined ? nothing : sql`and status = ${status}`} ${type === undefined ? nothing : sql`and type = ${type}`}
    ${search === undefined ? nothing : sql`and lower(address || ' ' || coalesce(name, '')) like ${likePattern(search)}`}
  order by id desc limit ${limit}`

export interface NewMailboxRow {
  project_id: ProjectId
  address: string
  name: string | null
  type?: MailboxRow['type']
  list_id?: ListId | null
  config?: MailboxRow['config']
  expires_at?: Date | null
}

export const insertMailbox = async (tx: Transaction, mailbox: NewMailboxRow): Promise<MailboxRow> => {
  const { project_id, address, name, type = 'persistent', list_id = null, config = null, expires_at = null } = mailbox
  const [row] = await tx.many<MailboxRow>`
    insert into mailboxes (project_id, id, address, address_key, name, type, status, list_id, config, expires_at, created_at, updated_at)
    values (${project_id}, ${newId<'mbx'>()}, ${address}, ${address.toLowerCase()}, ${name}, ${type}, 'active', ${list_id},
      ${config && JSON.stringify(config)}, ${expires_at}, ${tx.now}, ${tx.now})
    returning *`
  return row! // an insert that does not throw returns its row
}

export const updateMailbox = (tx: Transaction, { project_id, id, name, status, config, expires_at }: MailboxRow) => tx.run`
  update mailboxes set name = ${name}, status = ${status}, config = ${config && JSON.stringify(config)}, expires_at = ${expires_at}, updated_at = ${tx.now}
  where project_id = ${project_id} and id = ${id}`

/** `foo` and `foo-2` reach for the same names: whoever wants either waits until this transaction ends. */
export const lockName = (tx: Transaction, name: string) => holdName(tx, `list name ${name.replace(/(-\d+)+$/, '')}`)

/**
 * By a mailbox, or by somebody who signs in with it or is invited by it: who had that mailbox would get their codes, and those for
 * `name+anything`. Or it was another project's until lately, and mail for them still comes; but at a domain that the project has now, that
 * mail is its own.
 */
export const isAddressUsed = async (tx: Transaction, address_key: string, project_id: ProjectId | null): Promise<boolean> =>
  (await tx.first`
    select 1 from mailboxes where address_key = ${address_key} and deleted_at is null
    union all select 1 from users where email_key = ${address_key}
    union all select 1 from users where email_key like '%+%' and regexp_replace(email_key, '[+].*@', '@') = ${address_key}
    union all select 1 from invites where status = 'pending' and regexp_replace(email_key, '[+].*@', '@') = ${address_key}
    union all select 1 from retired_addresses
      where address_key = ${address_key} and kept_until > ${tx.now} and kept_for is distinct from ${project_id} and not exists (
        select 1 from sender_domains
        where project_id = ${project_id} and domain = split_part(${address_key}, '@', 2) and status = 'verified')`) !== null

/** Whether the project has shown that a domain is theirs. It stays so until the transaction ends. */
export const holdVerifiedDomain = async (tx: Transaction, project_id: ProjectId, domain: string): Promise<boolean> =>
  (await tx.first`
    select 1 from sender_domains where project_id = ${project_id} and domain = ${domain} and status = 'verified' for share`) !== null

/**
 * Whether mail may go out in the name of an address that is not at MAIL_DOMAIN. A domain that nobody has set up here was MAIL_DOMAIN
 * before.
 */
export const findOwnDomain = (db: Queryable, project_id: ProjectId, domain: string) => db.first<{ is_verified: boolean }>`
  select bool_or(project_id = ${project_id} and status = 'verified') as is_verified from sender_domains
  where domain = ${domain} and (project_id = ${project_id} or status = 'verified') having count(*) > 0`

/** The project of whoever runs the installation. */
export const isOwnersProject = async (db: Queryable, project_id: ProjectId): Promise<boolean> =>
  (await db.first`select 1 from instance where owner_project_id = ${project_id}`) !== null

interface ListKey {
  project_id: ProjectId
  list_id: ListId
}

/** True while the list is there, and it stays until the transaction ends. */
export const holdListOf = async (tx: Transaction, { project_id, list_id }: ListKey): Promise<boolean> =>
  (await tx.first`select 1 from lists where project_id = ${project_id} and id = ${list_id} and deleted_at is null for share`) !== null

/** The list whose own address this is. */
export const findListAtMailbox = (db: Queryable, project_id: ProjectId, id: MailboxId) => db.first<{ name: string }>`
  select name from lists where project_id = ${project_id} and mailbox_id = ${id} and deleted_at is null`

/** What was tied to a list that is gone stays, on its own. */
export const untieMailboxes = (tx: Transaction, { project_id, list_id }: ListKey) => tx.many<MailboxRow>`
  update mailboxes set list_id = null, updated_at = ${tx.now}
  where project_id = ${project_id} and list_id = ${list_id} and deleted_at is null
  returning *`

/**
 * They take no more mail, and keys that are bound to them end. Their addresses are no other project's for as long as mail for them may
 * still come. A domain that they were at is looked at next, and goes if nobody else needs it.
 */
const markDeleted = (tx: Transaction, which: Fragment) => tx.many<MailboxRow>`
  with gone as (
    update mailboxes set deleted_at = ${tx.now}, status = 'disabled', updated_at = ${tx.now} where deleted_at is null and ${which} returning *),
  kept as (
    insert into retired_addresses (address_key, kept_for, kept_until)
    select address_key, project_id, ${tx.now}::timestamptz + interval '90 days' from gone
    on conflict (address_key) do update set kept_for = excluded.kept_for, kept_until = excluded.kept_until),
  ended as (delete from api_keys k using gone where k.project_id = gone.project_id and k.mailbox_id = gone.id),
  looked_at as (
    update sender_domains d set next_check_at = ${tx.now} from gone
    where d.project_id = gone.project_id and d.domain = split_part(gone.address, '@', 2))
  select * from gone`

export const markMailboxDeleted = async (tx: Transaction, project_id: ProjectId, id: MailboxId): Promise<MailboxRow | null> =>
  (await markDeleted(tx, sql`project_id = ${project_id} and id = ${id}`))[0] ?? null

export const markAllMailboxesDeleted = (tx: Transaction, project_id: ProjectId) => markDeleted(tx, sql`project_id = ${project_id}`)

/** Of all projects, those whose end came before then; a few at a time. */
export const markExpiredDeleted = (tx: Transaction, before: Date, limit: number) =>
  markDeleted(
    tx,
    sql`(project_id, id) in (
      select project_id, id from mailboxes where expires_at < ${before} and deleted_at is null order by expires_at limit ${limit} for update skip locked)`,
  )

/** What was deleted, or came to its end, before then. */
export const mailboxesToEmpty = (db: Queryable, before: Date, limit: number) => db.many<Pick<MailboxRow, 'project_id' | 'id'>>`
  select project_id, id from mailboxes
  where deleted_at is not null and emptied_at is null and (deleted_at < ${before} or expires_at < ${before})
  order by deleted_at limit ${limit}`

export const pruneRetiredAddresses = (db: Queryable, now: Date) => db.run`delete from retired_addresses where kept_until < ${now}`

/** Of a mailbox `m`: its domain is not one that its project has set up. It was MAIL_DOMAIN, then, now or before. */
const isAtInstallations = sql`m.deleted_at is null and not exists (
  select 1 from sender_domains d where d.project_id = m.project_id and d.domain = split_part(m.address_key, '@', 2))`

/** By domain, of all projects: addresses that mail leaves from and nobody can answer to. */
export const findStrayAddresses = (db: Queryable, { mailDomain, now }: { mailDomain: string; now: Date }) => db.many<{
  domain: string
  count: number
  example: string
}>`
  select split_part(m.address_key, '@', 2) as domain, count(*)::integer as count, (array_agg(m.address order by m.id))[1] as example
  from mailboxes m join projects p on p.id = m.project_id
  where p.deleted_at is null and ${isAtInstallations} and split_part(m.address_key, '@', 2) <> ${mailDomain} and (m.expires_at is null or m.expires_at > ${now})
  group by 1 order by 2 desc, 1 limit 10`

export type StrayMailbox = Pick<MailboxRow, 'project_id' | 'id' | 'address'>

/** Those at a domain, of all projects, by their keys: as many as asked for, after that one. */
export const lockStrayMailboxes = (
  tx: Transaction,
  { domain, after, limit }: { domain: string; after: StrayMailbox | null; limit: number },
) => tx.many<StrayMailbox>`
  select m.project_id, m.id, m.address from mailboxes m
  where split_part(m.address_key, '@', 2) = ${domain} and ${isAtInstallations}
    ${after === null ? nothing : sql`and (m.project_id, m.id) > (${after.project_id}, ${after.id})`}
  order by m.project_id, m.id limit ${limit} for update`

/** What an agent is called by moves along; it is no way to sign in. */
export const readdressMailbox = (
  tx: Transaction,
  { project_id, id, address, before }: StrayMailbox & { before: string },
) => tx.first<MailboxRow>`
  with agent as (
    update users u set email = ${address} from projects p
    where p.id = ${project_id} and u.id = p.owner_id and u.kind = 'agent' and u.email_key is null and u.email = ${before})
  update mailboxes set address = ${address}, address_key = ${address.toLowerCase()}, updated_at = ${tx.now}
  where project_id = ${project_id} and id = ${id} and deleted_at is null returning *`

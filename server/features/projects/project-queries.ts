import type { EmailId, ProjectId, UserId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import { markAllMailboxesDeleted } from '../mailboxes/index.ts'
import type { ProjectRow } from './project.ts'

const columns = sql`p.id, p.name, p.slug, p.owner_id, owner.slug as owner, m.role, p.plan, p.created_at`
const fromProjects = sql`
  from projects p join members m on m.project_id = p.id join users owner on owner.id = p.owner_id`

/** The project as this member sees it; to others it is not there. */
export const findProject = (db: Queryable, project_id: ProjectId, user_id: UserId) => db.first<ProjectRow>`
  select ${columns} ${fromProjects} where p.id = ${project_id} and m.user_id = ${user_id} and p.deleted_at is null`

/** Newest first. `only` keeps it to one of them. */
export const pageProjects = (
  db: Queryable,
  { user_id, only, after, limit }: { user_id: UserId; only: ProjectId | null; after: string | null; limit: number },
) => db.many<ProjectRow>`
  select ${columns} ${fromProjects}
  where m.user_id = ${user_id} and p.deleted_at is null
    ${only === null ? nothing : sql`and p.id = ${only}`} ${after === null ? nothing : sql`and p.id < ${after}`}
  order by p.id desc limit ${limit}`

export const countOwnedProjects = async (db: Queryable, user_id: UserId): Promise<number> =>
  (await db.first<{ count: number }>`select count(*) as count from projects where owner_id = ${user_id} and deleted_at is null`)?.count ?? 0

/**
 * True while the project is there. Held until the transaction ends, so that changes of its team, and its end, take turns; whoever writes
 * rows that belong to the project is not kept waiting.
 */
export const lockProject = async (tx: Transaction, project_id: ProjectId): Promise<boolean> =>
  (await tx.first`select 1 from projects where id = ${project_id} and deleted_at is null for no key update`) !== null

export const renameProject = (tx: Transaction, project_id: ProjectId, name: string) => tx.run`
  update projects set name = ${name} where id = ${project_id} and deleted_at is null`

/** Gone for everybody, and its name in addresses is free. */
export const markProjectDeleted = (tx: Transaction, project_id: ProjectId) => tx.run`
  update projects set deleted_at = ${tx.now}, slug = ${`deleted-${project_id}`} where id = ${project_id}`

/** Nobody gets in any more: keys, members, apps and who was asked to join. */
export const endAccess = async (tx: Transaction, project_id: ProjectId): Promise<void> => {
  await tx.run`delete from api_keys where project_id = ${project_id}`
  await tx.run`delete from oauth_grants where project_id = ${project_id}`
  await tx.run`delete from members where project_id = ${project_id}`
  await tx.run`delete from invites where project_id = ${project_id} and status = 'pending'`
}

/** Subdomains are unique across projects: others may have them as soon as they may have the addresses. */
export const freeNames = async (tx: Transaction, project_id: ProjectId): Promise<void> => {
  await markAllMailboxesDeleted(tx, project_id)
  await tx.run`update lists set deleted_at = ${tx.now} where project_id = ${project_id} and deleted_at is null`
}

/** An owner who leaves, or is one no more, passes the project on to the owner who has been there longest. Its address changes with that. */
export const passProjectOn = (tx: Transaction, project_id: ProjectId, user_id: UserId) => tx.run`
  update projects set owner_id = (
    select m.user_id from members m join users u on u.id = m.user_id and u.disabled_at is null
    where m.project_id = ${project_id} and m.role = 'owner' and m.user_id <> ${user_id}
    order by m.created_at, m.user_id limit 1)
  where id = ${project_id} and owner_id = ${user_id}`

/**
 * Tombstones whose rows may still be about: not purged yet, deleted so lately that a request was still on its way, or with something to
 * pay. Told by their slug: a project that was merged into another is over, too, but its rows went there.
 */
export const unpurgedProjects = (db: Queryable, now: Date) => db.many<{ id: ProjectId }>`
  select id from projects p
  where deleted_at is not null and slug = 'deleted-' || id and (name <> '' or deleted_at > ${now}::timestamptz - interval '2 days'
    or exists (select 1 from billing_accounts b where b.project_id = p.id) or exists (select 1 from usage_periods u where u.project_id = p.id))`

/** Deleted by its owner, as opposed to living or merged: whoever empties a project asks this first. */
export const isTombstone = async (db: Queryable, project_id: ProjectId): Promise<boolean> =>
  (await db.first`select 1 from projects where id = ${project_id} and deleted_at is not null and slug = 'deleted-' || id`) !== null

export interface MovedMail {
  id: EmailId
  raw_key: string
}

/** E-mails whose raw message lies with another project. */
export const movedMail = (
  db: Queryable,
  { project_id, prefix, after, limit }: { project_id: ProjectId; prefix: string; after: EmailId | null; limit: number },
) => db.many<MovedMail>`
  select id, raw_key from emails
  where project_id = ${project_id} and (${after}::uuid is null or id > ${after}) and raw_key is not null and not starts_with(raw_key, ${prefix})
  order by id limit ${limit}`

export const tenantTables = (db: Queryable) => db.many<{ name: string }>`
  select c.table_name as name from information_schema.columns c
  join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name
  where c.table_schema = current_schema() and c.column_name = 'project_id' and t.table_type = 'BASE TABLE'
  order by 1`

/** Nobody's any more: only that there was one, and when it ended. */
export const emptyTombstone = (db: Queryable, project_id: ProjectId) => db.run`
  update projects set name = '' where id = ${project_id} and deleted_at is not null`

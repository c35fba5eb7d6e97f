import type { ProjectId, UserId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import type { Role } from '../../operations/context.ts'
import type { MemberRow } from './member.ts'

const columns = sql`m.project_id, u.id, u.email, u.name, u.kind, m.role, m.created_at`

export const findMember = (db: Queryable, project_id: ProjectId, user_id: UserId) => db.first<MemberRow>`
  select ${columns} from members m join users u on u.id = m.user_id where m.project_id = ${project_id} and m.user_id = ${user_id}`

export const isMemberAddress = async (db: Queryable, project_id: ProjectId, email_key: string): Promise<boolean> =>
  (await db.first`
    select 1 from members m join users u on u.id = m.user_id where m.project_id = ${project_id} and u.email_key = ${email_key}`) !== null

/** By account, the oldest first. */
export const pageMembers = (db: Queryable, project_id: ProjectId, after: string | null, limit: number) => db.many<MemberRow>`
  select ${columns} from members m join users u on u.id = m.user_id
  where m.project_id = ${project_id} ${after === null ? nothing : sql`and m.user_id > ${after}`}
  order by m.user_id limit ${limit}`

/** Owners beside this one who can still do something. */
export const countOtherOwners = async (db: Queryable, project_id: ProjectId, user_id: UserId): Promise<number> => {
  const counted = await db.first<{ count: number }>`
    select count(*) as count from members m join users u on u.id = m.user_id and u.disabled_at is null
    where m.project_id = ${project_id} and m.role = 'owner' and m.user_id <> ${user_id}`
  return counted?.count ?? 0
}

/** Whoever is a member already keeps the role that they have. */
export const insertMember = (tx: Transaction, member: { project_id: ProjectId; user_id: UserId; role: Role }) => tx.run`
  insert into members (project_id, user_id, role, created_at) values (${member.project_id}, ${member.user_id}, ${member.role}, ${tx.now})
  on conflict (project_id, user_id) do nothing`

export const setRole = (tx: Transaction, project_id: ProjectId, user_id: UserId, role: Role) => tx.run`
  update members set role = ${role} where project_id = ${project_id} and user_id = ${user_id}`

/** With their keys and apps: should they come back one day, nothing that they once handed out does. */
export const removeMember = async (tx: Transaction, project_id: ProjectId, user_id: UserId): Promise<void> => {
  await tx.run`delete from api_keys where project_id = ${project_id} and user_id = ${user_id}`
  await tx.run`delete from oauth_grants where project_id = ${project_id} and user_id = ${user_id}`
  await tx.run`delete from members where project_id = ${project_id} and user_id = ${user_id}`
}

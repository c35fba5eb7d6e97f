import type { ProjectId, UserId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import { type Fragment, nothing, sql } from '../../database/sql.ts'
import { type Caller, type Role, roleScopes } from '../../operations/context.ts'
import type { SessionRow } from './session-queries.ts'

export interface Membership {
  id: ProjectId
  name: string
  slug: string
  role: Role
}

/** The projects that somebody is a member of: their own first, then the oldest. */
export const listProjectsOf = (db: Queryable, user_id: UserId) => db.many<Membership>`
  select p.id, p.name, p.slug, m.role from members m join projects p on p.id = m.project_id
  where m.user_id = ${user_id} and p.deleted_at is null
  order by p.owner_id = m.user_id desc, p.id limit 1000`

/** The signed-in person as a caller in one project: the one with that slug, or their first. Null where they are no member. */
export const findSessionCaller = (
  db: Queryable,
  { id, user_id }: Pick<SessionRow, 'id' | 'user_id'>,
  slug: string | null,
): Promise<Caller | null> => findCaller(db, { user_id, counted_as: id }, slug === null ? nothing : sql`and p.slug = ${slug}`)

/** Somebody who has shown otherwise who they are, by a link that we signed for them. */
export const findMemberCaller = (
  db: Queryable,
  { project_id, user_id }: { project_id: ProjectId; user_id: UserId },
): Promise<Caller | null> => findCaller(db, { user_id, counted_as: user_id }, sql`and p.id = ${project_id}`)

async function findCaller(db: Queryable, who: Pick<Caller, 'user_id' | 'counted_as'>, where: Fragment): Promise<Caller | null> {
  const found = await db.first<{ project_id: ProjectId; role: Role; space: string }>`
    select p.id as project_id, m.role, owner.slug || '/' || p.slug as space
    from members m
    join users u on u.id = m.user_id and u.disabled_at is null
    join projects p on p.id = m.project_id and p.deleted_at is null
    join users owner on owner.id = p.owner_id
    where m.user_id = ${who.user_id} ${where}
    order by p.owner_id = m.user_id desc, p.id limit 1`
  if (!found) return null
  return {
    ...found,
    ...who,
    key_id: null,
    grant_id: null,
    mailbox_id: null,
    agent_mailbox_id: null,
    scopes: roleScopes[found.role],
    // What a person makes outlives the visit.
    expires_at: null,
  }
}

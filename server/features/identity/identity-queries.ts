import { newId, type ProjectId, type UserId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { holdName } from '../../database/hold-name.ts'

export interface Identity {
  user_id: UserId
  user_kind: 'human' | 'agent'
  user_email: string | null
  user_name: string | null
  user_slug: string
  project_id: ProjectId
  project_name: string
  project_slug: string
}

export const findIdentity = (db: Queryable, user_id: UserId, project_id: ProjectId) => db.first<Identity>`
  select u.id as user_id, u.kind as user_kind, u.email as user_email, u.name as user_name, u.slug as user_slug,
    p.id as project_id, p.name as project_name, p.slug as project_slug
  from users u cross join projects p where u.id = ${user_id} and p.id = ${project_id}`

export interface Instance {
  owner_project_id: ProjectId
  owner_id: UserId
  secret_fingerprint: string
}

export const findInstance = (db: Queryable) => db.first<Instance>`
  select i.owner_project_id, p.owner_id, i.secret_fingerprint from instance i join projects p on p.id = i.owner_project_id`

/** Taken before looking whether the installation is new, so that two processes that start at once make one owner. */
export const lockInstance = (tx: Transaction) => tx.run`lock table instance in exclusive mode`

export interface NewUser {
  kind: 'human' | 'agent'
  email: string | null
  email_key: string | null
  slug: string
  name?: string
}

export const insertUser = async (tx: Transaction, user: NewUser): Promise<UserId> => {
  const id = newId<'usr'>()
  await tx.run`
    insert into users (id, kind, email, email_key, slug, name, created_at)
    values (${id}, ${user.kind}, ${user.email}, ${user.email_key}, ${user.slug}, ${user.name ?? null}, ${tx.now})`
  return id
}

export interface NewProject {
  name: string
  slug: string
  owner_id: UserId
  /** A name in PLANS, or `unlimited`. */
  plan: string
}

/** The project, with its owner as the first member. */
export const insertProject = async (tx: Transaction, project: NewProject): Promise<ProjectId> => {
  const id = newId<'prj'>()
  await tx.run`
    insert into projects (id, name, slug, owner_id, plan, created_at)
    values (${id}, ${project.name}, ${project.slug}, ${project.owner_id}, ${project.plan}, ${tx.now})`
  await tx.run`insert into members (project_id, user_id, role, created_at) values (${id}, ${project.owner_id}, 'owner', ${tx.now})`
  return id
}

export interface UserRow {
  id: UserId
  kind: 'human' | 'agent'
  email: string | null
  email_key: string | null
  name: string | null
  slug: string
  parent_id: UserId | null
  disabled_at: Date | null
}

export const findUser = (db: Queryable, id: UserId) => db.first<UserRow>`select * from users where id = ${id}`

export const findUserByAddress = (db: Queryable, email_key: string) => db.first<UserRow>`select * from users where email_key = ${email_key}`

/** Those of a project who have an address. An agent that nobody has claimed has nobody to ask or to tell. */
export const findOwners = (db: Queryable, project_id: ProjectId) => db.many<{ user_id: UserId; email: string }>`
  select u.id as user_id, u.email from members m join users u on u.id = m.user_id
  where m.project_id = ${project_id} and m.role = 'owner' and u.kind = 'human' and u.disabled_at is null and u.email is not null
  order by u.id`

/** The project that a person's things go to when nothing else is said: the oldest they own. */
export const findHomeProject = (db: Queryable, user_id: UserId) => db.first<{ id: ProjectId }>`
  select id from projects where owner_id = ${user_id} and deleted_at is null order by id limit 1`

/** Of `base`, `base-2`, … those that are in use, by a person or by a project. Held until the transaction ends: others take turns. */
export const takenSlugs = async (tx: Transaction, base: string): Promise<Set<string>> => {
  await holdName(tx, `slug ${base}`)
  const rows = await tx.many<{ slug: string }>`
    select slug from users where slug = ${base} or slug like ${`${base}-%`}
    union select slug from projects where slug = ${base} or slug like ${`${base}-%`}`
  return new Set(rows.map((row) => row.slug))
}

export const insertInstance = (tx: Transaction, instance: { owner_project_id: ProjectId; secret_fingerprint: string }) => tx.run`
  insert into instance (owner_project_id, secret_fingerprint, created_at) values (${instance.owner_project_id}, ${instance.secret_fingerprint}, ${tx.now})`

/** Who is told when something goes wrong by itself; without a project, whoever owns this installation. Null for an agent that nobody has claimed. */
export const findOwnerAddress = (db: Queryable, project_id: ProjectId | null) => db.first<{
  email: string | null
  email_key: string | null
}>`
  select coalesce(owner.email, parent.email) as email, coalesce(owner.email_key, parent.email_key) as email_key
  from projects p join users owner on owner.id = p.owner_id left join users parent on parent.id = owner.parent_id
  where p.id = coalesce(${project_id}::uuid, (select owner_project_id from instance))`

import { newId, type ProjectId, type UserId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'

export interface Identity {
  user_id: UserId
  user_kind: 'human' | 'agent'
  user_email: string | null
  user_name: string | null
  project_id: ProjectId
  project_name: string
  project_slug: string
}

export const findIdentity = (db: Queryable, user_id: UserId, project_id: ProjectId) => db.first<Identity>`
  select u.id as user_id, u.kind as user_kind, u.email as user_email, u.name as user_name,
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

export const insertUser = async (tx: Transaction, user: { email: string; email_key: string }): Promise<UserId> => {
  const id = newId<'usr'>()
  await tx.run`insert into users (id, kind, email, email_key, created_at) values (${id}, 'human', ${user.email}, ${user.email_key}, ${tx.now})`
  return id
}

export const insertProject = async (tx: Transaction, project: { name: string; slug: string; owner_id: UserId }): Promise<ProjectId> => {
  const id = newId<'prj'>()
  await tx.run`insert into projects (id, name, slug, owner_id, created_at) values (${id}, ${project.name}, ${project.slug}, ${project.owner_id}, ${tx.now})`
  await tx.run`insert into members (project_id, user_id, role, created_at) values (${id}, ${project.owner_id}, 'owner', ${tx.now})`
  return id
}

export const insertInstance = (tx: Transaction, instance: { owner_project_id: ProjectId; secret_fingerprint: string }) => tx.run`
  insert into instance (owner_project_id, secret_fingerprint, created_at) values (${instance.owner_project_id}, ${instance.secret_fingerprint}, ${tx.now})`

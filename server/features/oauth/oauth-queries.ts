import { type AppId, newId, type ProjectId, type UserId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import type { GrantRow, GrantView, LiveAccess } from './oauth.ts'

/**
 * Records belong to the OAuth server, not to a project: ids are tokens, and what is behind one tells the project. Grants are the
 * project's.
 */
export interface RecordRow {
  id_hash: Buffer
  payload: Buffer
  consumed_at: Date | null
}

export interface NewRecord {
  model: string
  id_hash: Buffer
  payload: Buffer
  grant_id: string | null
  uid: string | null
  expires_at: Date | null
}

export const upsertRecord = (db: Queryable, record: NewRecord, now: Date) => db.run`
  insert into oauth_records (model, id_hash, payload, grant_id, uid, created_at, expires_at)
  values (${record.model}, ${record.id_hash}, ${record.payload}, ${record.grant_id}, ${record.uid}, ${now}, ${record.expires_at})
  on conflict (model, id_hash) do update
  set payload = excluded.payload, grant_id = excluded.grant_id, uid = excluded.uid, expires_at = excluded.expires_at`

export const findRecord = (db: Queryable, model: string, id_hash: Buffer, now: Date) => db.first<RecordRow>`
  select id_hash, payload, consumed_at from oauth_records
  where model = ${model} and id_hash = ${id_hash} and (expires_at is null or expires_at > ${now})`

export const findRecordByUid = (db: Queryable, model: string, uid: string, now: Date) => db.first<RecordRow>`
  select id_hash, payload, consumed_at from oauth_records
  where model = ${model} and uid = ${uid} and (expires_at is null or expires_at > ${now})`

/** Whoever comes second, even at the same moment, is told so. */
export const consumeRecord = async (db: Queryable, model: string, id_hash: Buffer, now: Date): Promise<boolean> =>
  (await db.run`
    update oauth_records set consumed_at = ${now} where model = ${model} and id_hash = ${id_hash} and consumed_at is null`) === 1

export const deleteRecord = (db: Queryable, model: string, id_hash: Buffer) => db.run`
  delete from oauth_records where model = ${model} and id_hash = ${id_hash}`

export const deleteRecordsOfGrant = (db: Queryable, model: string, grant_id: string) => db.run`
  delete from oauth_records where model = ${model} and grant_id = ${grant_id}`

/** The OAuth server ends a grant, because the app gave a token back or used one twice: its id is known to it alone. */
export const endGrant = async (tx: Transaction, grant_id: string): Promise<Pick<GrantRow, 'project_id' | 'id' | 'user_id'> | null> => {
  await dropWhatGrantMade(tx, grant_id)
  return tx.first`delete from oauth_grants where grant_id = ${grant_id} returning project_id, id, user_id`
}

/** Its tokens, and the keys that the app made for itself. */
async function dropWhatGrantMade(tx: Transaction, grant_id: string): Promise<void> {
  await tx.run`delete from oauth_records where grant_id = ${grant_id}`
  await tx.run`delete from api_keys where grant_id = ${grant_id}`
}

export interface NewGrant extends Omit<GrantRow, 'id' | 'created_at' | 'last_used_at'> {}

export const insertGrant = (tx: Transaction, grant: NewGrant) => tx.run`
  insert into oauth_grants (project_id, id, grant_id, user_id, client_id, client_name, scopes, created_at)
  values (${grant.project_id}, ${newId<'app'>()}, ${grant.grant_id}, ${grant.user_id}, ${grant.client_id}, ${grant.client_name}, ${grant.scopes}, ${tx.now})`

/**
 * One look tells all: the token is there, and so are the grant, the membership, the project, and a person who is not switched off.
 * Without a project, because the token is what tells it.
 */
export const findLiveAccess = (db: Queryable, id_hash: Buffer) => db.first<LiveAccess>`
  select r.payload, r.expires_at, g.grant_id, g.user_id, g.project_id, g.scopes as granted, m.role, owner.slug || '/' || p.slug as space
  from oauth_records r
  join oauth_grants g on g.grant_id = r.grant_id
  join members m on m.project_id = g.project_id and m.user_id = g.user_id
  join users u on u.id = g.user_id and u.disabled_at is null
  join projects p on p.id = g.project_id and p.deleted_at is null
  join users owner on owner.id = p.owner_id
  where r.model = 'AccessToken' and r.id_hash = ${id_hash}`

/** Whether an app may still act for this person. */
export const isGrantLive = async (db: Queryable, grant_id: string, user_id: UserId): Promise<boolean> =>
  (await db.first`
    select 1 from oauth_grants g
    join members m on m.project_id = g.project_id and m.user_id = g.user_id
    join users u on u.id = g.user_id and u.disabled_at is null
    join projects p on p.id = g.project_id and p.deleted_at is null
    where g.grant_id = ${grant_id} and g.user_id = ${user_id}`) !== null

export const touchGrant = (db: Queryable, project_id: ProjectId, grant_id: string, at: Date) => db.run`
  update oauth_grants set last_used_at = ${at}
  where project_id = ${project_id} and grant_id = ${grant_id} and (last_used_at is null or last_used_at < ${at})`

/** The apps that a person let in, newest first, over all their projects. */
export const listGrantsOf = (db: Queryable, user_id: UserId) => db.many<GrantView>`
  select g.*, p.name as project_name, p.slug as project_slug
  from oauth_grants g join projects p on p.id = g.project_id and p.deleted_at is null
  where g.user_id = ${user_id} order by g.created_at desc, g.grant_id limit 1000`

/** The apps in a project, whoever let them in, newest first. */
export const pageGrants = (db: Queryable, project_id: ProjectId, after: string | null, limit: number) => db.many<GrantRow>`
  select * from oauth_grants where project_id = ${project_id} ${after === null ? nothing : sql`and id < ${after}`} order by id desc limit ${limit}`

/** Everything that it made goes, too. */
export const deleteGrant = async (tx: Transaction, project_id: ProjectId, id: AppId): Promise<boolean> => {
  const gone = await tx.first<{ grant_id: string }>`
    delete from oauth_grants where project_id = ${project_id} and id = ${id} returning grant_id`
  if (gone) await dropWhatGrantMade(tx, gone.grant_id)
  return gone !== null
}

/** Everything that it made goes, too. Null when this person has no such grant. */
export const deleteGrantOf = async (tx: Transaction, user_id: UserId, grant_id: string): Promise<ProjectId | null> => {
  const gone = await tx.first<{ project_id: ProjectId }>`
    delete from oauth_grants where user_id = ${user_id} and grant_id = ${grant_id} returning project_id`
  if (gone) await dropWhatGrantMade(tx, grant_id)
  return gone?.project_id ?? null
}

/** Counts one more app that asks to be registered from there; false when there were too many in the last hour. */
export const takeRegistration = async (tx: Transaction, peer: string, limit: number): Promise<boolean> => {
  // Two at the same moment count each other.
  await tx.run`select pg_advisory_xact_lock(hashtextextended(${`oauth registrations ${peer}`}, 0))`
  const asked = await tx.first<{ count: number }>`
    select count(*) from oauth_registrations where peer = ${peer} and created_at > ${tx.now}::timestamptz - interval '1 hour'`
  if ((asked?.count ?? 0) >= limit) return false
  await tx.run`insert into oauth_registrations (id, peer, created_at) values (${newId()}, ${peer}, ${tx.now})`
  return true
}

const batch = 1000

/** What has ended; a grant that no token can use any more; an app that nobody let in within thirty days. One piece at a time. */
export const pruneRecords = async (db: Queryable, now: Date): Promise<number> => {
  const ended = await db.run`
    delete from oauth_records where (model, id_hash) in (select model, id_hash from oauth_records where expires_at < ${now} limit ${batch})`
  const asked = await db.run`
    delete from oauth_registrations where id in (
      select id from oauth_registrations where created_at < ${now}::timestamptz - interval '1 day' limit ${batch})`
  const idle = await db.run`
    with idle as (
      delete from oauth_grants where grant_id in (
        select g.grant_id from oauth_grants g where g.created_at < ${now}::timestamptz - interval '1 day'
        and not exists (select 1 from oauth_records r where r.grant_id = g.grant_id and r.model in ('AccessToken', 'RefreshToken'))
        limit ${batch})
      returning grant_id)
    delete from oauth_records r using idle where r.grant_id = idle.grant_id`
  const unused = await db.run`
    delete from oauth_records where model = 'Client' and id_hash in (
      select c.id_hash from oauth_records c where c.model = 'Client' and c.created_at < ${now}::timestamptz - interval '30 days'
      and not exists (select 1 from oauth_grants g where sha256(convert_to(g.client_id, 'UTF8')) = c.id_hash)
      limit ${batch})`
  return ended + asked + idle + unused
}

import { newId, type SessionId, type UserId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'

export interface SessionRow {
  id: SessionId
  user_id: UserId
  user_agent: string | null
  ip: string | null
  created_at: Date
  last_seen_at: Date
  expires_at: Date
}

export interface NewSession {
  user_id: UserId
  hash: Buffer
  user_agent: string | null
  ip: string | null
  expires_at: Date
}

export const insertSession = (tx: Transaction, session: NewSession) => tx.run`
  insert into sessions (id, hash, user_id, user_agent, ip, created_at, last_seen_at, expires_at)
  values (${newId<'ses'>()}, ${session.hash}, ${session.user_id}, ${session.user_agent}, ${session.ip}, ${tx.now}, ${tx.now}, ${session.expires_at})`

/** Without a project: a session belongs to a person, who may be a member of many. */
export const findSessionByHash = (db: Queryable, hash: Buffer, now: Date) => db.first<SessionRow>`
  select s.* from sessions s join users u on u.id = s.user_id and u.disabled_at is null where s.hash = ${hash} and s.expires_at > ${now}`

export const touchSession = (db: Queryable, id: SessionId, now: Date, expires_at: Date) => db.run`
  update sessions set last_seen_at = ${now}, expires_at = ${expires_at} where id = ${id}`

export const deleteSessionByHash = (db: Queryable, hash: Buffer) => db.run`delete from sessions where hash = ${hash}`

export const deleteSession = async (tx: Transaction, user_id: UserId, id: SessionId): Promise<boolean> =>
  (await tx.run`delete from sessions where user_id = ${user_id} and id = ${id}`) === 1

export const deleteSessions = (tx: Transaction, user_id: UserId) => tx.run`delete from sessions where user_id = ${user_id}`

/** Newest first. */
export const listSessions = (db: Queryable, user_id: UserId, now: Date) => db.many<SessionRow>`
  select * from sessions where user_id = ${user_id} and expires_at > ${now} order by last_seen_at desc, id desc limit 1000`

export const pruneSessions = (db: Queryable, now: Date) => db.run`delete from sessions where expires_at < ${now}`

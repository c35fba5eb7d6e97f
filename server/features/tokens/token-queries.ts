import { type KeyId, type MailboxId, newId, type ProjectId, type UserId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import type { Scope } from '../../operations/context.ts'
import { hashOfKey, shownPrefix, type TokenRow } from './token.ts'

export interface NewTokenRow {
  project_id: ProjectId
  user_id: UserId
  name: string
  key: string
  scopes: readonly Scope[]
  mailbox_id: MailboxId | null
  expires_at: Date | null
}

export const insertToken = (tx: Transaction, token: NewTokenRow) => tx.first<TokenRow>`
  insert into api_keys (project_id, id, user_id, name, prefix, hash, scopes, mailbox_id, expires_at, created_at)
  values (${token.project_id}, ${newId<'key'>()}, ${token.user_id}, ${token.name}, ${shownPrefix(token.key)}, ${hashOfKey(token.key)}, ${[...token.scopes]}, ${token.mailbox_id}, ${token.expires_at}, ${tx.now})
  returning *`

export const pageTokens = (db: Queryable, project_id: ProjectId, after: string | null, limit: number) => db.many<TokenRow>`
  select * from api_keys where project_id = ${project_id} ${after === null ? nothing : sql`and id < ${after}`} order by id desc limit ${limit}`

/** Every node asks again within half a second, so a key stops everywhere within one. */
export const deleteToken = async (tx: Transaction, project_id: ProjectId, id: KeyId): Promise<boolean> =>
  (await tx.run`delete from api_keys where project_id = ${project_id} and id = ${id}`) === 1

/** The one query that goes without a project: the key's hash is what tells the project. */
export const findTokenByHash = (db: Queryable, hash: Buffer) => db.first<TokenRow>`select * from api_keys where hash = ${hash}`

export const touchToken = (db: Queryable, project_id: ProjectId, id: KeyId, at: Date) => db.run`
  update api_keys set last_used_at = ${at} where project_id = ${project_id} and id = ${id} and (last_used_at is null or last_used_at < ${at})`

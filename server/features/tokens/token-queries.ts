import { type KeyId, type MailboxId, newId, type ProjectId, type UserId } from '../../base/ids.ts'
import { hashOfSecret } from '../../base/secrets.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import type { Role, Scope } from '../../operations/context.ts'
import { type LiveToken, shownPrefix, type TokenRow } from './token.ts'

export interface NewTokenRow {
  project_id: ProjectId
  user_id: UserId
  name: string
  key: string
  scopes: readonly Scope[]
  mailbox_id: MailboxId | null
  agent_mailbox_id?: MailboxId | null
  grant_id?: string | null
  expires_at: Date | null
}

export const insertToken = (tx: Transaction, token: NewTokenRow) => tx.first<TokenRow>`
  insert into api_keys (project_id, id, user_id, name, prefix, hash, scopes, mailbox_id, agent_mailbox_id, grant_id, expires_at, created_at)
  values (${token.project_id}, ${newId<'key'>()}, ${token.user_id}, ${token.name}, ${shownPrefix(token.key)}, ${hashOfSecret(token.key)}, ${[...token.scopes]}, ${token.mailbox_id}, ${token.agent_mailbox_id ?? null}, ${token.grant_id ?? null}, ${token.expires_at}, ${tx.now})
  returning *`

/** What somebody is in a project; null when they are not in it, or it is gone. */
export const findRole = async (db: Queryable, project_id: ProjectId, user_id: UserId): Promise<Role | null> =>
  (
    await db.first<{ role: Role }>`
    select m.role from members m join projects p on p.id = m.project_id and p.deleted_at is null
    where m.project_id = ${project_id} and m.user_id = ${user_id}`
  )?.role ?? null

export const pageTokens = (db: Queryable, project_id: ProjectId, after: string | null, limit: number) => db.many<TokenRow>`
  select * from api_keys where project_id = ${project_id} ${after === null ? nothing : sql`and id < ${after}`} order by id desc limit ${limit}`

/** Every node asks again within half a second, so a key stops everywhere within one. */
export const deleteToken = async (tx: Transaction, project_id: ProjectId, id: KeyId): Promise<boolean> =>
  (await tx.run`delete from api_keys where project_id = ${project_id} and id = ${id}`) === 1

/** A key ends with its owner's membership, with an agent that is switched off, and with the project. */
const liveTokens = sql`
  select k.*, m.role, owner.slug || '/' || p.slug as space
  from api_keys k
  join members m on m.project_id = k.project_id and m.user_id = k.user_id
  join users u on u.id = k.user_id and u.disabled_at is null
  join projects p on p.id = k.project_id and p.deleted_at is null
  join users owner on owner.id = p.owner_id`

/** The one query that goes without a project: the key's hash is what tells the project. */
export const findTokenByHash = (db: Queryable, hash: Buffer) => db.first<LiveToken>`
  ${liveTokens} where k.hash = ${hash}`

/** The same for a key that is known by its id. */
export const findLiveToken = (db: Queryable, project_id: ProjectId, id: KeyId) => db.first<LiveToken>`
  ${liveTokens} where k.project_id = ${project_id} and k.id = ${id}`

export const touchToken = (db: Queryable, project_id: ProjectId, id: KeyId, at: Date) => db.run`
  update api_keys set last_used_at = ${at} where project_id = ${project_id} and id = ${id} and (last_used_at is null or last_used_at < ${at})`

import type { Clock } from '../../base/clock.ts'
import type { KeyId, ProjectId } from '../../base/ids.ts'
import type { Log } from '../../base/log.ts'
import { noteUses, rememberBriefly } from '../../base/recent.ts'
import { hashOfSecret } from '../../base/secrets.ts'
import type { Database, Queryable } from '../../database/database.ts'
import { type Caller, scopesWithin } from '../../operations/context.ts'
import type { LiveToken } from './token.ts'
import { findLiveToken, findTokenByHash, touchToken } from './token-queries.ts'

interface Parts {
  database: Database
  clock: Clock
  log: Log
}

/** Who a key belongs to. A busy key costs two look-ups a second, not one a request. */
export function createAuthenticate({ database, clock, log }: Parts): (key: string) => Promise<Caller | null> {
  const look = rememberBriefly((key) => findTokenByHash(database, hashOfSecret(key)))
  const noteUse = noteUses(log, ({ project_id, id }: LiveToken, now) => touchToken(database, project_id, id, now))

  return async (key) => {
    if (!key.startsWith('sk_')) return null
    const token = await look(key)
    const now = clock.now()
    if (!token || (token.expires_at && token.expires_at <= now)) return null
    noteUse(token.id, token, now)
    return callerOf(token)
  }
}

/** Whom a key stands for that is known by its id, while it is good. */
export async function findCallerOfKey(db: Queryable, project_id: ProjectId, id: KeyId, now: Date): Promise<Caller | null> {
  const token = await findLiveToken(db, project_id, id)
  return token && (!token.expires_at || token.expires_at > now) ? callerOf(token) : null
}

const callerOf = ({
  id,
  role,
  scopes,
  user_id,
  project_id,
  space,
  mailbox_id,
  agent_mailbox_id,
  grant_id,
  expires_at,
}: LiveToken): Caller => ({
  user_id,
  project_id,
  space,
  role,
  key_id: id,
  grant_id,
  counted_as: id,
  mailbox_id,
  agent_mailbox_id,
  scopes: scopesWithin(role, scopes),
  expires_at,
})

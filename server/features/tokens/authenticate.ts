import type { Clock } from '../../base/clock.ts'
import type { KeyId } from '../../base/ids.ts'
import type { Log } from '../../base/log.ts'
import type { Database } from '../../database/database.ts'
import type { Caller } from '../../operations/context.ts'
import { hashOfKey, type TokenRow } from './token.ts'
import { findTokenByHash, touchToken } from './token-queries.ts'

/** A revoked key must stop within a second on every node: no answer is reused for longer than this. */
const trustedForMs = 500
const noteUseEveryMs = 60_000
const maxRemembered = 10_000

interface Known {
  token: Promise<TokenRow | null>
  until: number
}

/** Who a key belongs to. A busy key costs two look-ups a second, not one a request. */
export function createAuthenticate({
  database,
  clock,
  log,
}: {
  database: Database
  clock: Clock
  log: Log
}): (key: string) => Promise<Caller | null> {
  const known = new Map<string, Known>()
  const noted = new Map<KeyId, number>()

  const look = (key: string): Promise<TokenRow | null> => {
    const at = performance.now()
    const remembered = known.get(key)
    if (remembered && remembered.until > at) return remembered.token
    if (known.size >= maxRemembered) known.clear()
    const token = findTokenByHash(database, hashOfKey(key))
    known.set(key, { token, until: at + trustedForMs })
    // A failed look-up must not be remembered as an answer.
    token.catch(() => known.delete(key))
    return token
  }

  const noteUse = (token: TokenRow, now: Date) => {
    if (now.getTime() - (noted.get(token.id) ?? 0) < noteUseEveryMs) return
    if (noted.size >= maxRemembered) noted.clear()
    noted.set(token.id, now.getTime())
    touchToken(database, token.project_id, token.id, now).catch((error: Error) =>
      log.debug({ reason: error.message }, 'last_used_at is noted later'),
    )
  }

  return async (key) => {
    if (!key.startsWith('sk_')) return null
    const token = await look(key)
    const now = clock.now()
    if (!token || (token.expires_at && token.expires_at <= now)) return null
    noteUse(token, now)
    const { user_id, project_id, id: key_id, mailbox_id, scopes, expires_at } = token
    return { user_id, project_id, key_id, mailbox_id, scopes, expires_at }
  }
}

import { z } from 'zod'
import { idOf, type UserId } from '../../base/ids.ts'
import { hashOfSecret, makeSecret } from '../../base/secrets.ts'
import type { Transaction } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { timestamp } from '../../operations/schemas.ts'
import { findSessionByHash, insertSession, type SessionRow, touchSession } from './session-queries.ts'

export const Session = z
  .object({
    id: idOf('ses'),
    user_agent: z.string().nullable().meta({ description: 'What the browser calls itself' }),
    ip: z.string().nullable().meta({ description: 'Where it was signed in from' }),
    created_at: timestamp,
    last_seen_at: timestamp,
    expires_at: timestamp.meta({ description: 'Unless it is used again before' }),
  })
  .meta({ id: 'Session' })

/** Thirty days after the last visit, a browser must prove itself again. */
const validMs = 30 * 24 * 3_600_000
const touchEveryMs = 10 * 60_000

/** Signs a browser in. Always a new secret, never one that was there before: nobody can plant a session in somebody else's browser. */
export async function startSession(
  tx: Transaction,
  { user_id, user_agent, ip }: { user_id: UserId; user_agent: string | null; ip: string | null },
): Promise<string> {
  const secret = makeSecret()
  const expires_at = new Date(tx.now.getTime() + validMs)
  await insertSession(tx, { user_id, hash: hashOfSecret(secret), user_agent: user_agent?.slice(0, 300) ?? null, ip, expires_at })
  return secret
}

export interface FoundSession extends SessionRow {
  /** It now lasts longer, and so should the cookie. */
  isRenewed: boolean
}

/** The session behind a cookie, or null. A visit keeps it alive; that is noted every ten minutes. */
export async function findSession({ database, clock }: Pick<Services, 'database' | 'clock'>, secret: string): Promise<FoundSession | null> {
  const now = clock.now()
  const session = await findSessionByHash(database, hashOfSecret(secret), now)
  if (!session) return null
  if (now.getTime() - session.last_seen_at.getTime() <= touchEveryMs) return { ...session, isRenewed: false }
  const expires_at = new Date(now.getTime() + validMs)
  await touchSession(database, session.id, now, expires_at)
  return { ...session, last_seen_at: now, expires_at, isRenewed: true }
}

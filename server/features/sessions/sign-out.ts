import { formatId, type SessionId, type UserId } from '../../base/ids.ts'
import { hashOfSecret } from '../../base/secrets.ts'
import type { Services } from '../../operations/context.ts'
import { findSession } from './session.ts'
import { deleteSession, deleteSessionByHash, deleteSessions } from './session-queries.ts'
import { noteForPerson } from './sign-in.ts'

/**
 * Ends sessions for the person in the browser. Not through the operations: whoever was put out of every project can still sign out
 * everywhere.
 */
export async function signOut(services: Services, secret: string, request_id: string): Promise<void> {
  const session = await findSession(services, secret)
  await services.database.transaction(async (tx) => {
    const ended = await deleteSessionByHash(tx, hashOfSecret(secret))
    if (session && ended > 0) await noteForPerson(tx, { user_id: session.user_id, operation: 'sessions.delete', request_id })
  })
}

export const signOutOf = (
  { database }: Services,
  { user_id, id, request_id }: { user_id: UserId; id: SessionId; request_id: string },
): Promise<boolean> =>
  database.transaction(async (tx) => {
    const isEnded = await deleteSession(tx, user_id, id)
    if (isEnded) await noteForPerson(tx, { user_id, operation: 'sessions.delete', request_id, target: { id: formatId('ses', id) } })
    return isEnded
  })

export const signOutEverywhere = (
  { database }: Services,
  { user_id, request_id }: { user_id: UserId; request_id: string },
): Promise<void> =>
  database.transaction(async (tx) => {
    await deleteSessions(tx, user_id)
    await noteForPerson(tx, { user_id, operation: 'sessions.delete_all', request_id })
  })

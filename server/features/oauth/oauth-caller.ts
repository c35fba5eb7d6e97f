import { noteUses, rememberBriefly } from '../../base/recent.ts'
import { hashOfSecret } from '../../base/secrets.ts'
import { type Caller, type Scope, type Services, scopesWithin } from '../../operations/context.ts'
import { type LiveAccess, placeOf } from './oauth.ts'
import { findLiveAccess, touchGrant } from './oauth-queries.ts'

type Parts = Pick<Services, 'database' | 'clock' | 'secrets' | 'log'>

/** What the token itself says; the rest is looked up. */
interface Token {
  aud?: string
  scope?: string
}

/** Whom an OAuth access token speaks for, if it was made for one of these audiences. A busy token costs two look-ups a second. */
export function createOAuthAuthenticate({ database, clock, secrets, log }: Parts, audiences: readonly string[]) {
  const look = rememberBriefly(async (token) => {
    const id_hash = hashOfSecret(token)
    const access = await findLiveAccess(database, id_hash)
    return access && { access, token: JSON.parse(secrets.open('oauth', placeOf('AccessToken', id_hash), access.payload)) as Token }
  })
  const noteUse = noteUses(log, ({ project_id, grant_id }: LiveAccess, now) => touchGrant(database, project_id, grant_id, now))

  return async (credential: string): Promise<Caller | null> => {
    const found = await look(credential)
    const now = clock.now()
    if (!found || found.access.expires_at <= now || !audiences.includes(found.token.aud ?? '')) return null
    noteUse(found.access.grant_id, found.access, now)
    return callerOf(found.access, found.token)
  }
}

/** Never more than the token, the consent and the person's role each allow. */
function callerOf(access: LiveAccess, token: Token): Caller {
  const said = (token.scope ?? '').split(' ')
  const wanted = access.granted.filter((scope: Scope) => said.includes(scope))
  return {
    user_id: access.user_id,
    project_id: access.project_id,
    space: access.space,
    role: access.role,
    key_id: null,
    grant_id: access.grant_id,
    counted_as: access.grant_id,
    mailbox_id: null,
    agent_mailbox_id: null,
    scopes: scopesWithin(access.role, wanted),
    expires_at: access.expires_at,
  }
}

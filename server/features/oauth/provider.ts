import type { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import Provider, { type Configuration, errors, type FindAccount, type KoaContextWithOIDC } from 'oidc-provider'
import { parseId } from '../../base/ids.ts'
import type { Log } from '../../base/log.ts'
import { makeSecret } from '../../base/secrets.ts'
import { isConnectionLoss } from '../../database/database.ts'
import { type Services, scopes } from '../../operations/context.ts'
import { findUser } from '../identity/index.ts'
import { createAdapter } from './adapter.ts'
import { checkClient } from './client-rules.ts'
import { stayUntilDecided } from './leaving.ts'
import { createMetadataFetch, maxDocumentBytes } from './metadata-fetch.ts'
import { resourceNamed } from './oauth.ts'
import { isGrantLive } from './oauth-queries.ts'
import { signingKeyOf } from './signing-key.ts'

export type OAuthProvider = Provider
type Parts = Pick<Services, 'database' | 'clock' | 'secrets' | 'config' | 'log' | 'guardedFetch'>

const hour = 3600
const day = 24 * hour

export const paths = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  register: '/oauth/register',
  revoke: '/oauth/revoke',
  introspect: '/oauth/introspect',
  jwks: '/oauth/jwks',
  interaction: '/oauth/interaction',
}

/** Of the library's own session, which nobody is asked to keep: who is signed in, our own session tells. */
export const librarySessionCookie = '_oauth_session'

/** What went wrong where a person is looking, for a page of ours. */
export interface ShownError {
  status: number
  error: string
  description: string
  /** Where the app would have us send them on to. */
  leads_to?: string
}
export type ShowError = (request: IncomingMessage, error: ShownError) => void

/** OAuth 2.1 for apps that people let in: codes with PKCE, opaque tokens that end with what they stand on, nothing else. */
export function createOAuthProvider(parts: Parts, showError: ShowError): OAuthProvider {
  const { config, secrets, log } = parts
  const provider = new Provider(config.AUTH_URL, {
    ...fixed,
    adapter: createAdapter(parts),
    jwks: { keys: [signingKeyOf(secrets)] },
    cookies: {
      names: { session: librarySessionCookie, interaction: '_oauth_interaction', resume: '_oauth_resume' },
      keys: [secrets.mac('oauth_cookies', 'keys').toString('base64url')],
      long: { httpOnly: true, sameSite: 'lax', signed: true },
      short: { httpOnly: true, sameSite: 'lax', signed: true },
    },
    features: featuresFor(parts),
    findAccount: createFindAccount(parts),
    fetch: createMetadataFetch(parts.guardedFetch),
    async renderError(ctx, out) {
      ctx.respond = false
      showError(ctx.req, { status: ctx.status, error: out.error, description: out.error_description ?? '' })
    },
  })
  tellOfOutages(provider, log)
  // Without a listener, Koa writes to the terminal what goes wrong outside the endpoints, as when a browser hangs up.
  const emitter: EventEmitter = provider
  emitter.on('error', (error: Error) => log.warn({ reason: error.message }, 'an OAuth answer was not finished'))
  answerAs(provider, config.AUTH_URL)
  stayUntilDecided(provider, { asksAt: paths.interaction, show: (request, refusal) => showError(request, { status: 400, ...refusal }) })
  return provider
}

/** RFC 6749 section 5.2 has no error for a server in trouble; this one is of section 4.1.2.1, and clients know it. */
export const away = { error: 'temporarily_unavailable', error_description: 'the database cannot be reached just now' }

/** A database that is away for a moment is no failure of ours to look into, and the client is told to come back. */
function tellOfOutages(provider: OAuthProvider, log: Log): void {
  const outages = new WeakSet<object>()
  provider.on('server_error', (ctx, error: Error) => {
    if (isConnectionLoss(error)) outages.add(ctx.req)
    else log.error({ reason: error.message, stack: error.stack }, 'the OAuth server failed')
  })
  provider.use(async (ctx, next) => {
    await next()
    if (!outages.has(ctx.req) || ctx.respond === false) return
    ctx.status = 503
    ctx.set('retry-after', '2')
    ctx.body = away
  })
}

/** What the outside calls us is configuration: neither a Host header nor a proxy's word decides where links and cookies go. */
function answerAs(provider: OAuthProvider, issuer: string): void {
  const { origin, protocol } = new URL(issuer)
  Object.defineProperties(provider.request, {
    origin: { get: () => origin },
    protocol: { get: () => protocol.slice(0, -1) },
  })
}

const fixed = {
  // In this order they are shown; openid is answered when asked for, and not advertised.
  scopes: [...scopes, 'offline_access'],
  responseTypes: ['code'],
  pkce: { required: () => true },
  clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post'],
  clientDefaults: {
    // Native: an app on somebody's machine may use any port of it, or a scheme of its own (RFC 8252 section 7).
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    id_token_signed_response_alg: 'ES256',
  },
  enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
  // The validator is the library's door for rules of our own; it opens only with further metadata, and these are RFC 7591's.
  extraClientMetadata: {
    properties: ['software_id', 'software_version'],
    validator: (_ctx, key, _value, metadata) => {
      if (key === 'software_id') checkClient({ ...metadata })
    },
  },
  routes: {
    authorization: paths.authorize,
    token: paths.token,
    registration: paths.register,
    revocation: paths.revoke,
    introspection: paths.introspect,
    jwks: paths.jwks,
    end_session: '/oauth/session/end',
  },
  interactions: { url: (_ctx, interaction) => `${paths.interaction}/${interaction.uid}` },
  ttl: {
    AccessToken: hour,
    AuthorizationCode: 60,
    // A year after consent the person is asked again, however busy the app is.
    Grant: 365 * day,
    IdToken: hour,
    Interaction: hour,
    // From its last use: each use brings a new one.
    RefreshToken: 30 * day,
    Session: hour,
  },
  // An app that was let in may stay until it is thrown out; asking for offline_access is not needed for that.
  issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: true,
  expiresWithSession: async () => false,
  // Every consent is a grant of its own, so nothing else hangs on the one that an app gives back or gets caught with.
  revokeGrantPolicy: () => true,
  loadExistingGrant: async (ctx) => {
    const grantId = ctx.oidc.result?.consent?.grantId
    return grantId === undefined ? undefined : ctx.oidc.provider.Grant.find(grantId)
  },
  fetchResponseBodyLimits: { 'client_id metadata document': maxDocumentBytes },
} satisfies Configuration

function featuresFor({ config, database }: Parts): NonNullable<Configuration['features']> {
  return {
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    userinfo: { enabled: false },
    revocation: { enabled: true, allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId },
    introspection: {
      enabled: true,
      // Own tokens only, and only as long as they would open a door.
      async allowedPolicy(_ctx, client, token) {
        if (token.clientId !== client.clientId || !('accountId' in token) || !token.accountId || !token.grantId) return false
        const user_id = parseId('usr', token.accountId)
        return user_id !== null && isGrantLive(database, token.grantId, user_id)
      },
    },
    registration: {
      enabled: true,
      issueRegistrationAccessToken: false,
      // To one that does not say how it will identify itself the library would give a secret that our default has no use for.
      secretFactory: async (ctx) => (ctx.oidc.body?.token_endpoint_auth_method === undefined ? undefined : makeSecret()) as string,
    },
    clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
    resourceIndicators: {
      enabled: true,
      defaultResource: async (_ctx, _client, oneOf) => (Array.isArray(oneOf) ? (oneOf[0] as string) : config.API_URL),
      useGrantedResource: async () => true,
      async getResourceServerInfo(_ctx, identifier) {
        const audience = resourceNamed(config, identifier)
        if (audience === null) throw new errors.InvalidTarget(`there is no resource ${identifier} here`)
        return { scope: scopes.join(' '), audience, accessTokenTTL: hour, accessTokenFormat: 'opaque' }
      },
    },
  }
}

/** Somebody who has left the project, or was switched off, is nobody to the apps that they let in. */
function createFindAccount({ database }: Parts): FindAccount {
  return async (_ctx: KoaContextWithOIDC, sub, token) => {
    const user_id = parseId('usr', sub)
    if (user_id === null) return undefined
    const grantId = token && 'grantId' in token ? token.grantId : undefined
    const user = await findUser(database, user_id)
    const isLive = user !== null && user.disabled_at === null && (!grantId || (await isGrantLive(database, grantId, user_id)))
    return isLive ? { accountId: sub, claims: async () => ({ sub }) } : undefined
  }
}

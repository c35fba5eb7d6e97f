import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../base/errors.ts'
import { type Html, html } from '../base/html.ts'
import { peerOf } from '../base/peer-address.ts'
import { isConnectionLoss } from '../database/database.ts'
import {
  away,
  createOAuthProvider,
  librarySessionCookie,
  type OAuthProvider,
  paths,
  type ShownError,
  takeRegistration,
} from '../features/oauth/index.ts'
import { type Services, scopes } from '../operations/context.ts'
import { addConsentPages } from './oauth-consent.ts'
import { sendPage } from './page.ts'

/** The OAuth server: the endpoints that apps call, and the page on which people let them in. */
export function addOAuth(app: FastifyInstance, services: Services): void {
  const replies = new WeakMap<IncomingMessage, FastifyReply>()
  const provider = createOAuthProvider(services, (request, error) => {
    const reply = replies.get(request)
    if (reply) sendErrorPage(reply, error)
  })
  app.register(async (scope) => addEndpoints(scope, services, createHandOver(provider, replies)))
  app.register(async (scope) => addConsentPages(scope, services, provider))
}

type HandOver = (request: FastifyRequest, reply: FastifyReply) => void

function addEndpoints(app: FastifyInstance, services: Services, handOver: HandOver): void {
  // The library reads bodies itself, at most 56 kB of them; ours must not touch the stream before.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  app.setErrorHandler((error, _request, reply) => {
    // RFC 6749 section 5.2 has its own shape of error, and no name for what is too often.
    if (error instanceof ApiError)
      return reply.code(error.status).headers(error.headers).send({ error: 'temporarily_unavailable', error_description: error.message })
    if (isConnectionLoss(error)) return reply.code(503).header('retry-after', '2').send(away)
    throw error
  })

  // Asking costs us rows and look-ups, so it counts, unlike looking at a page.
  const asking = { exposeHeadRoute: false, config: { isCounted: true } }
  app.get(paths.authorize, asking, (request, reply) => {
    request.raw.url = withScope(pathOf(request.raw.url ?? ''))
    handOver(request, reply)
  })
  app.get(`${paths.authorize}/:uid`, asking, handOver)

  for (const path of [paths.token, paths.revoke, paths.introspect, paths.register, paths.jwks]) {
    // Apps in a browser call these from their own site. No cookie counts here, so there is nothing that another site could misuse.
    app.options(path, async (_request, reply) =>
      reply
        .code(204)
        .headers({
          'access-control-allow-origin': '*',
          'access-control-allow-methods': path === paths.jwks ? 'GET' : 'POST',
          'access-control-allow-headers': 'authorization, content-type, mcp-protocol-version',
          'access-control-max-age': '86400',
        })
        .send(),
    )
  }
  const forAll: HandOver = (request, reply) => handOver(request, reply.header('access-control-allow-origin', '*'))
  app.get(paths.jwks, asking, forAll)
  const config = { isHandedOver: true }
  for (const path of [paths.token, paths.revoke, paths.introspect]) app.post(path, { config }, forAll)
  app.post(paths.register, { config, onRequest: async (request) => refuseTooManyApps(services, request) }, forAll)
}

/** Whoever has many addresses to register from is held by what all together may. */
const everybody = 20

async function refuseTooManyApps({ database, config }: Services, request: FastifyRequest): Promise<void> {
  const limit = config.APP_REGISTRATIONS_PER_HOUR
  const ways = [
    { from: peerOf(request), limit, words: 'from one address' },
    { from: 'everybody', limit: limit * everybody, words: 'from all addresses together' },
  ]
  // Refused by one, it counts for neither.
  await database.transaction(async (tx) => {
    for (const { from, limit, words } of ways) {
      if (await takeRegistration(tx, from, limit)) continue
      throw new ApiError('rate_limited', `Only ${limit} apps may register ${words} in an hour. Use a client_id that you have.`, {
        headers: { 'retry-after': '3600' },
      })
    }
  })
}

/** Gives the request to the library, with the headers that every answer of ours has. */
function createHandOver(provider: OAuthProvider, replies: WeakMap<IncomingMessage, FastifyReply>): HandOver {
  const answer = provider.callback()
  return (request, reply) => {
    const { raw } = request
    raw.url = pathOf(raw.url ?? '')
    raw.headers.cookie = withoutLibrarySession(raw.headers.cookie)
    replies.set(raw, reply)
    for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) reply.raw.setHeader(name, value)
    void answer(raw, reply.raw)
  }
}

/** A proxy may send the whole address in the request line (RFC 9112 section 3.2.2). */
const pathOf = (url: string): string => url.replace(/^\w+:\/\/[^/]*/, '')

/**
 * RFC 6749 section 3.3: an app that names no scope asks for the default, which is all; the person may give it less. One that names only
 * what there is not here, as openid, asks to read.
 */
function withScope(url: string): string {
  const [path, query = ''] = url.split('?', 2) as [string, string?]
  const params = new URLSearchParams(query)
  const asked = params.get('scope')?.split(' ')
  if (asked?.some((word) => (scopes as readonly string[]).includes(word))) return url
  params.set('scope', asked ? [...asked.filter(Boolean), 'read'].join(' ') : scopes.join(' '))
  return `${path}?${params}`
}

/**
 * The library would remember who signed in last, beside our own session and longer than it. Without its cookie it asks every time, and
 * the page that it asks on knows.
 */
const withoutLibrarySession = (cookies = ''): string =>
  cookies
    .split('; ')
    .filter((cookie) => !cookie.startsWith(librarySessionCookie))
    .join('; ')

function sendErrorPage(reply: FastifyReply, { status, error, description, leads_to }: ShownError): FastifyReply {
  if (status >= 500)
    return sendPage(
      reply,
      status,
      'Try again',
      html`<h1>This does not work just now</h1><p>It is our fault, and will pass. Go back to the app and try again in a moment.</p>`,
    )
  const content = html`<h1>This cannot go on</h1><p>The app that sent you here asked for something that is not possible, or asked too late.
Go back to the app and start once more; if that does not help, show this to those who make it:</p><pre>${error}: ${description}</pre>
${leads_to === undefined ? null : wayOn(leads_to)}`
  return sendPage(reply, status, 'This cannot go on', content)
}

const wayOn = (uri: string): Html =>
  html`<p class="soft">The app says that it lives at <strong>${new URL(uri).host}</strong>. Only if you know that site:
<a href="${uri}" rel="noreferrer nofollow">go on to ${new URL(uri).host}</a>.</p>`

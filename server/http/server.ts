import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import cors from '@fastify/cors'
import fastify, { type FastifyInstance } from 'fastify'
import { ApiError } from '../base/errors.ts'
import { formatId, newId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import { acceptBodies } from './body.ts'
import { boundBodies } from './bound-bodies.ts'
import { Endings } from './endings.ts'
import { errorBody, type ShowError, sendError } from './errors.ts'
import { addMetrics } from './metrics.ts'
import { openApiDocument } from './openapi.ts'
import { addOperation, admitRequests, type HttpParts, refuseTooMany, takeAllowance } from './routes.ts'
import { refuseSpaceToStranger, rewriteSpace } from './space.ts'

/** Null when this process can serve; else what it waits for. */
export type ReadyCheck = () => Promise<string | null>

export interface ServerParts extends HttpParts {
  isReady: ReadyCheck
  /** What does not keep this process from serving, and should be known: told beside "ready". */
  trouble(): string | null
  /** Pages and other plain routes beside the API. */
  pages: ((app: FastifyInstance) => void)[]
  showError: ShowError
  /** The address that a request is to be answered at, where its Host says so; null leaves it as it came. */
  rewriteUrl?(request: IncomingMessage): string | null
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True: a GET beside the API that counts like what changes something. False: a POST that does not. */
    isCounted?: boolean | ((request: FastifyRequest) => boolean)
  }
}

const exposed = [
  'Link',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'Retry-After',
  'WWW-Authenticate',
  'Payment-Receipt',
  'X-Request-Id',
]

const drainMs = 10_000

export function createServer(parts: ServerParts): FastifyInstance {
  const app = fastify({
    // The access log is the proxy's work; ours tells what failed, and with LOG_LEVEL=debug the rest.
    logger: false,
    genReqId: (request) => acceptedRequestId(request.headers['x-request-id']) ?? `req_${formatId('evt', newId()).slice(4)}`,
    // Only a proxy on a private network may tell us whom it speaks for.
    trustProxy: ['loopback', 'linklocal', 'uniquelocal'],
    // More than a request line can hold: a path too long to be right is not found like any other, with the headers that go with it.
    routerOptions: { maxParamLength: 16_384 },
    rewriteUrl: (request) => parts.rewriteUrl?.(request) ?? rewriteSpace(request),
    // Silence ends a connection; a streamed upload that keeps moving may take as long as it needs.
    connectionTimeout: 120_000,
    keepAliveTimeout: 65_000,
    // What still comes over an open connection while we stop is answered as ever, and the connection closed after it.
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id)
      takeAllowance(parts, request, reply)
      return sendError(parts, error, request, reply)
    },
    clientErrorHandler: (_error, socket) => {
      if (!socket.writable) return
      const body = JSON.stringify(errorBody(new ApiError('validation_error', 'The request is not well-formed HTTP.')))
      socket.end(
        `HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      )
    },
  })
  app.setErrorHandler((error, request, reply) => sendError(parts, error, request, reply))
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
  })
  acceptBodies(app)
  if (parts.services.config.LOG_LEVEL === 'debug') logRequests(app, parts.services.log)
  boundBodies(app)

  let isStopping = false
  // Kept by ourselves: `localhost` is two servers, and the framework shows only one of them.
  const busy = new Set<Socket>()
  app.addHook('onRequest', async ({ raw: { socket } }) => {
    if (busy.has(socket)) return
    busy.add(socket)
    socket.once('close', () => busy.delete(socket))
  })
  const endings = new Endings()
  app.addHook('preClose', async () => {
    isStopping = true
    endings.endAll()
    // Whoever is slower than this has lost: a client that sends a byte now and then must not keep us from stopping.
    setTimeout(() => {
      for (const socket of busy) socket.destroy()
    }, drainMs).unref()
  })
  addMetrics(app, parts)
  app.get('/healthz', async () => ({ status: 'live' }))
  app.get('/readyz', async (_request, reply) => {
    const waitsFor = isStopping ? 'this process is stopping' : await parts.isReady()
    if (waitsFor !== null) reply.code(503)
    if (waitsFor !== null) return { status: 'not ready', reason: waitsFor }
    const trouble = parts.trouble()
    return { status: 'ready', ...(trouble === null ? {} : { trouble }) }
  })
  for (const addPages of parts.pages)
    app.register(async (scope) => {
      countPosts(scope, parts)
      addPages(scope)
    })
  app.register(async (scope) => addApi(scope, parts, endings))
  return app
}

/** One line a request, with the id that its answer carries. The query is left out: addresses and tokens stand there. */
function logRequests(app: FastifyInstance, log: Log): void {
  app.addHook('onResponse', async (request, reply) => {
    const { id: request_id, method, routeOptions } = request
    const about = { request_id, method, route: routeOptions.url ?? null, status: reply.statusCode, ms: Math.round(reply.elapsedTime) }
    log.debug(about, 'a request was answered')
  })
}

/** What is posted to a page counts for where it came from, with what that address asks of the API. Looking is free. */
function countPosts(app: FastifyInstance, parts: ServerParts): void {
  app.addHook('onRequest', async (request, reply) => {
    const isLook = ['GET', 'HEAD', 'OPTIONS'].includes(request.method)
    const { isCounted = !isLook } = request.routeOptions.config
    if (typeof isCounted === 'function' ? isCounted(request) : isCounted) refuseTooMany(takeAllowance(parts, request, reply))
  })
}

/** Everything under /v1 and the identity paths: counted, authenticated, and in the contract's error shape down to unknown paths. */
function addApi(app: FastifyInstance, parts: ServerParts, endings: Endings): void {
  // Here alone: what is for this machine's eyes (captured mail) must not be readable by every page that its browser opens.
  app.register(cors, {
    origin: '*',
    methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposedHeaders: exposed,
    maxAge: 86_400,
    strictPreflight: false,
  })
  admitRequests(app, parts)
  // After the routes' own look at the credential: where a key is needed, the answer without one stays that.
  app.addHook('preParsing', async (request) => refuseSpaceToStranger(request))
  const document = JSON.stringify(openApiDocument(parts.operations, parts.services.config))
  app.get('/v1/openapi.json', async (_request, reply) =>
    reply.type('application/json; charset=utf-8').header('cache-control', 'public, max-age=300').send(document),
  )
  for (const operation of parts.operations) addOperation(app, { ...parts, endings }, operation)
  app.setNotFoundHandler(async (request) => {
    const allowed = parts.operations.filter((operation) =>
      pathPattern(operation.base === 'api' ? `/v1${operation.path}` : operation.path).test(request.url.split('?')[0] ?? ''),
    )
    if (allowed.length > 0) {
      const methods = [...new Set(allowed.map((operation) => operation.method))].join(', ')
      throw new ApiError('method_not_allowed', `${request.method} is not possible here; ${methods} is.`, { headers: { allow: methods } })
    }
    throw new ApiError(
      'not_found',
      `There is nothing at ${request.method} ${request.url.split('?')[0]?.slice(0, 200)}. GET /v1/openapi.json lists every path.`,
    )
  })
}

const pathPattern = (path: string): RegExp => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`)

/** A caller's own id is kept, so that its logs and ours can be held side by side. */
const acceptedRequestId = (header: string | string[] | undefined): string | null =>
  typeof header === 'string' && /^[\w.:-]{8,128}$/.test(header) ? header : null

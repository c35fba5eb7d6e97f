import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, invalid } from '../base/errors.ts'
import { peerOf } from '../base/peer-address.ts'
import type { Caller, Patience, RequestFacts, Services } from '../operations/context.ts'
import { Answer, csvDownload, type Download, type FileAnswer, fileTypeOf, type Operation } from '../operations/define-operation.ts'
import { Page } from '../operations/page.ts'
import { presenterOf } from '../operations/present.ts'
import { metadataUrlOf, refuseForbidden, runOperation } from '../operations/run-operation.ts'
import { type Authenticate, type AuthenticatePayer, bearerOf, paymentOf, refuseStranger } from './credentials.ts'
import type { Endings } from './endings.ts'
import type { Allowance, RateLimit } from './rate-limit.ts'
import { refuseOtherSpace } from './space.ts'

export interface HttpParts {
  services: Services
  operations: Operation[]
  authenticate: Authenticate
  authenticatePayer: AuthenticatePayer
  rateLimit: RateLimit
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
    /** Known by a payment credential in place of a key. */
    isPayer: boolean
  }
  interface FastifyContextConfig {
    isEnveloped?: boolean
    /** The id of an operation that may be paid for. */
    payable?: string
  }
}

/** Who asks, and may they ask now: for every path below the API, known or not, before a byte of the body is read. */
export function admitRequests(app: FastifyInstance, parts: HttpParts): void {
  app.decorateRequest('caller', null)
  app.decorateRequest('isPayer', false)
  app.addHook('onRequest', async (request, reply) => {
    try {
      request.caller = await callerOf(parts, request)
    } finally {
      // Also when nobody can be recognised because the database is away: the headers are on every answer.
      refuseTooMany(takeAllowance(parts, request, reply))
    }
    refuseOtherSpace(request)
  })
}

/** By a key; or, where one may pay, by the payment credential that answers a challenge issued to a key. */
async function callerOf(parts: HttpParts, request: FastifyRequest): Promise<Caller | null> {
  const { authorization } = request.headers
  const key = bearerOf(authorization)
  if (key !== null) return parts.authenticate(key)
  const { payable } = request.routeOptions.config
  const payment = paymentOf(authorization)
  if (payable === undefined || payment === null) return null
  request.isPayer = true
  return parts.authenticatePayer(payment, payable)
}

/** Counts the request for its key, or for its address without one, and tells what is left. */
export function takeAllowance({ rateLimit }: Pick<HttpParts, 'rateLimit'>, request: FastifyRequest, reply: FastifyReply): Allowance {
  const allowance = rateLimit.take(request.caller?.counted_as ?? peerOf(request))
  reply.header('x-ratelimit-limit', allowance.limit)
  reply.header('x-ratelimit-remaining', allowance.remaining)
  reply.header('x-ratelimit-reset', allowance.reset)
  return allowance
}

export function refuseTooMany({ allowed, limit, retry_after }: Allowance): void {
  if (allowed) return
  throw new ApiError('rate_limited', `Only ${limit} requests a minute are allowed. Wait ${retry_after} s.`, {
    headers: { 'retry-after': String(retry_after) },
  })
}

/** `/lists/{id}` in the contract is `/lists/:id` to the router. */
const routePath = (operation: Operation): string => (operation.base === 'api' ? '/v1' : '') + operation.path.replace(/\{(\w+)\}/g, ':$1')

/** What the routes of operations need beside. */
interface RouteParts extends HttpParts {
  endings: Endings
}

const usualBytes = 1024 * 1024

export function addOperation(app: FastifyInstance, parts: RouteParts, operation: Operation): void {
  const { services } = parts
  app.route({
    method: operation.method,
    url: routePath(operation),
    bodyLimit: operation.bodyLimit ?? usualBytes,
    // HEAD would run a whole export to throw it away.
    exposeHeadRoute: fileTypeOf(operation) === null,
    config: {
      isEnveloped: operation.isEnveloped,
      takesCsv: operation.csv !== null,
      ...(operation.isPayable ? { payable: operation.id } : {}),
    },
    onRequest: async (request, reply) => {
      if (operation.deprecated) tellSuccessor(services, operation.deprecated, request, reply)
      if (operation.scope === 'none') return
      refuseStranger(request.caller, request.headers.authorization, metadataUrlOf(services.config, operation))
      // Here already, before the body is read.
      refuseForbidden(request.caller, operation, services.config)
      // Let in without the scope, for a mailbox of its own: anybody can register such an agent.
      if (operation.scope !== 'any' && !request.caller.scopes.includes(operation.scope)) request.mostBytes = usualBytes
    },
    handler: async (request, reply) => answer(services, operation, await run(parts, operation, request, reply), request, reply),
  })
}

/** RFC 9745: since when, and by what (RFC 8288) it is replaced. */
function tellSuccessor(
  { config }: Services,
  { since, successor }: NonNullable<Operation['deprecated']>,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const params = request.params as Record<string, string>
  const path = successor.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  reply
    .header('deprecation', `@${Math.floor(since.getTime() / 1_000)}`)
    .header('link', `<${config.API_URL}${path}>; rel="successor-version"`)
}

async function run(parts: RouteParts, operation: Operation, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { services } = parts
  const facts = { ...factsOf(request), patience: patienceOf(parts, operation, reply) }
  const asker = { caller: request.caller, request_id: request.id, request: facts, peer: peerOf(request) }
  const { params, query, body } = request
  try {
    return await runOperation(services, operation, asker, { params, query, body })
  } catch (error) {
    if (operation.csv && body instanceof Readable) await readAway(body)
    throw error
  }
}

const factsOf = (request: FastifyRequest): RequestFacts => ({
  idempotency_key: idempotencyKeyOf(request.headers['idempotency-key']),
  payment: paymentOf(request.isPayer ? request.headers.authorization : request.headers['payment-authorization']),
  isPayer: request.isPayer,
  bodyDigest: () =>
    `sha-256=:${createHash('sha256')
      .update(request.rawBody ?? '')
      .digest('base64')}:`,
})

const patienceOf = (parts: RouteParts, operation: Operation, { request, raw }: FastifyReply): Patience => ({
  last_event_id: [request.headers['last-event-id']].flat()[0] || null,
  ended: () => parts.endings.of(raw),
  isStillGood: async () =>
    isLetIn(request.caller, await callerOf(parts, request), (now) => refuseForbidden(now, operation, parts.services.config)),
})

/** Whether who was let in would be let in now, to the same. */
function isLetIn(before: Caller | null, now: Caller | null, check: (now: Caller) => void): boolean {
  if (!now || now.project_id !== before?.project_id || now.mailbox_id !== before.mailbox_id) return false
  try {
    check(now)
    return true
  } catch (error) {
    if (error instanceof ApiError) return false
    throw error
  }
}

function idempotencyKeyOf(header: string | string[] | undefined): string | null {
  if (header === undefined) return null
  if (typeof header === 'string' && /^[\x21-\x7e]{1,256}$/.test(header)) return header
  throw invalid('Idempotency-Key', 'must have 1 to 256 visible ASCII characters')
}

/** A client that sends all before it reads would never see a refusal that came, and a connection that closed, in the middle. */
function readAway(body: Readable): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 10_000)
    const done = () => {
      clearTimeout(timer)
      resolve()
    }
    body.once('end', done).once('close', done).on('error', done).resume()
    if (body.readableEnded || body.destroyed) done()
  })
}

function answer(services: Services, operation: Operation, result: unknown, request: FastifyRequest, reply: FastifyReply): unknown {
  reply.code(operation.status)
  if (operation.result === null) return reply.send()
  if (operation.result === csvDownload) {
    const { filename, stream } = result as Download
    return reply.type('text/csv; charset=utf-8').header('content-disposition', `attachment; filename="${filename}"`).send(stream)
  }
  if (fileTypeOf(operation) !== null) {
    const { content_type, headers, body } = result as FileAnswer
    return reply.type(content_type).headers(headers).send(body)
  }
  if (result instanceof Answer && result.isRepeat) reply.code(200)
  if (result instanceof Answer && result.receipt !== null)
    reply.header('payment-receipt', result.receipt).header('cache-control', 'private')
  const value = result instanceof Page ? result.items : result instanceof Answer ? result.value : result
  if (result instanceof Page && result.next !== null)
    reply.header('link', `<${nextUrl(services, operation, request, result.next)}>; rel="next"`)
  const shown = presenterOf(operation.result)(value)
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(operation.isEnveloped ? { ok: true, data: shown } : shown))
}

function nextUrl({ config }: Services, operation: Operation, request: FastifyRequest, cursor: string): string {
  // A proxy may send the whole address in the request line (RFC 9112 section 3.2.2); only its path is about us.
  const path = request.originalUrl.replace(/^\w+:\/\/[^/]*/, '')
  const url = new URL((operation.base === 'api' ? config.API_URL.replace(/\/v1$/, '') : config.AUTH_URL) + path)
  url.searchParams.set('cursor', cursor)
  return url.href
}

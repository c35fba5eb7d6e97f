import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, invalid } from '../base/errors.ts'
import type { Database, Transaction } from '../database/database.ts'
import { leaveAuditRow } from '../operations/audit.ts'
import { checkInput, refuseUnstorable } from '../operations/check-input.ts'
import type { Caller, Context, OpenContext, RequestFacts, Services } from '../operations/context.ts'
import { Answer, csvDownload, type Download, type Operation } from '../operations/define-operation.ts'
import { Page } from '../operations/page.ts'
import { presenterOf } from '../operations/present.ts'
import { type Authenticate, bearerOf, paymentOf, refuseForbidden, refuseStranger } from './credentials.ts'
import { type Allowance, addressSubject, type RateLimit } from './rate-limit.ts'
import { refuseOtherSpace } from './space.ts'

export interface HttpParts {
  services: Services
  operations: Operation[]
  authenticate: Authenticate
  rateLimit: RateLimit
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
  }
  interface FastifyContextConfig {
    isEnveloped?: boolean
  }
}

/** Who asks, and may they ask now: for every path below the API, known or not, before a byte of the body is read. */
export function admitRequests(app: FastifyInstance, parts: HttpParts): void {
  app.decorateRequest('caller', null)
  app.addHook('onRequest', async (request, reply) => {
    const credential = bearerOf(request.headers.authorization)
    try {
      request.caller = credential === null ? null : await parts.authenticate(credential)
    } finally {
      // Also when nobody can be recognised because the database is away: the headers are on every answer.
      refuseTooMany(takeAllowance(parts, request, reply))
    }
    refuseOtherSpace(request)
  })
}

/** Counts the request for its key, or for its address without one, and tells what is left. */
export function takeAllowance({ rateLimit }: HttpParts, request: FastifyRequest, reply: FastifyReply): Allowance {
  const allowance = rateLimit.take(request.caller?.counted_as ?? peerOf(request))
  reply.header('x-ratelimit-limit', allowance.limit)
  reply.header('x-ratelimit-remaining', allowance.remaining)
  reply.header('x-ratelimit-reset', allowance.reset)
  return allowance
}

const peerOf = (request: FastifyRequest): string => addressSubject(isIP(request.ip) ? request.ip : (request.socket.remoteAddress ?? ''))

function refuseTooMany({ allowed, limit, retry_after }: Allowance): void {
  if (allowed) return
  throw new ApiError('rate_limited', `Only ${limit} requests a minute are allowed. Wait ${retry_after} s.`, {
    headers: { 'retry-after': String(retry_after) },
  })
}

/** `/lists/{id}` in the contract is `/lists/:id` to the router. */
const routePath = (operation: Operation): string => (operation.base === 'api' ? '/v1' : '') + operation.path.replace(/\{(\w+)\}/g, ':$1')

export function addOperation(app: FastifyInstance, { services }: HttpParts, operation: Operation): void {
  const metadataUrl = `${services.config.PUBLIC_URL}/.well-known/oauth-protected-resource`
  app.route({
    method: operation.method,
    url: routePath(operation),
    bodyLimit: operation.bodyLimit ?? 1024 * 1024,
    // HEAD would run a whole export to throw it away.
    exposeHeadRoute: operation.result !== csvDownload,
    config: { isEnveloped: operation.isEnveloped },
    onRequest: async (request) => {
      if (operation.scope === 'none') return
      refuseStranger(request.caller, request.headers.authorization, metadataUrl)
      refuseForbidden(request.caller, operation, metadataUrl)
    },
    handler: async (request, reply) => {
      const context = contextOf(services, operation, request)
      return answer(services, operation, await runOperation(operation, context, request), request, reply)
    },
  })
}

/** Every mutation leaves an audit row, in the transaction that makes it. */
function contextOf(services: Services, operation: Operation, request: FastifyRequest): Context & OpenContext {
  const caller = request.caller as Caller // refuseStranger ran before; open operations are given a context that has none
  const context = { ...services, caller, request_id: request.id, peer: peerOf(request), request: factsOf(request) }
  if (operation.method === 'GET' || operation.scope === 'none') return context
  const row = { project_id: caller.project_id, operation: operation.id, caller, target: targetOf(request.params), request_id: request.id }
  return { ...context, database: audited(services.database, (tx) => leaveAuditRow(tx, row)) }
}

const factsOf = (request: FastifyRequest): RequestFacts => ({
  idempotency_key: idempotencyKeyOf(request.headers['idempotency-key']),
  payment: paymentOf(request.headers['payment-authorization']),
  bodyDigest: () =>
    `sha-256=:${createHash('sha256')
      .update(request.rawBody ?? '')
      .digest('base64')}:`,
})

function idempotencyKeyOf(header: string | string[] | undefined): string | null {
  if (header === undefined) return null
  if (typeof header === 'string' && /^[\x21-\x7e]{1,256}$/.test(header)) return header
  throw invalid('Idempotency-Key', 'must have 1 to 256 visible ASCII characters')
}

function audited(database: Database, leaveRow: (tx: Transaction) => Promise<unknown>): Database {
  let left = false
  return {
    ...database,
    transaction: (work, options) =>
      database.transaction(async (tx) => {
        const result = await work(tx)
        if (!left) await leaveRow(tx)
        tx.afterCommit(() => {
          left = true
        })
        return result
      }, options),
  }
}

/** The ids that a path names. An address in a path is a person, who may ask to be forgotten. */
const targetOf = (params: unknown) =>
  Object.fromEntries(Object.entries(params as object).filter(([, value]) => /^[a-z]+_[0-9a-z]{26}$/.test(String(value))))

async function runOperation(operation: Operation, context: Context, request: FastifyRequest): Promise<unknown> {
  const params = checkPath(operation, request.params)
  refuseUnstorable(request.query, '')
  const query = checkInput(operation.query, request.query, 'query')
  if (request.body instanceof Readable) {
    if (!operation.csv) throw invalid('Content-Type', 'must be application/json')
    return operation.csv.run(context, { params, query, body: request.body }).catch(async (error: unknown) => {
      await readAway(request.body as Readable)
      throw error
    })
  }
  const body = operation.body === null ? undefined : checkInput(operation.body, request.body === undefined ? {} : request.body, 'body')
  return operation.run(context, { params, query, body })
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

/** An id that cannot exist, or one of another kind, names nothing: not found, like any other id that names nothing. */
function checkPath(operation: Operation, params: unknown): unknown {
  const parsed = operation.params.safeParse(params)
  if (parsed.success) return parsed.data
  const name = String(parsed.error.issues[0]?.path[0] ?? 'path')
  throw new ApiError('not_found', `${name}: no such thing. Ids look like the ones this API hands out, and each kind has its own prefix.`)
}

function answer(services: Services, operation: Operation, result: unknown, request: FastifyRequest, reply: FastifyReply): unknown {
  reply.code(operation.status)
  if (operation.result === null) return reply.send()
  if (operation.result === csvDownload) {
    const { filename, stream } = result as Download
    return reply.type('text/csv; charset=utf-8').header('content-disposition', `attachment; filename="${filename}"`).send(stream)
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

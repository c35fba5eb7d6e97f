import { Readable } from 'node:stream'
import { ApiError, invalid } from '../base/errors.ts'
import { resourceMetadataUrl } from '../base/well-known.ts'
import type { Database } from '../database/database.ts'
import { type AuditTrail, leaveTrail } from './audit.ts'
import { checkInput, refuseUnstorable } from './check-input.ts'
import { type Caller, type Context, type OpenContext, type RequestFacts, type Services, standsForPerson } from './context.ts'
import type { Operation } from './define-operation.ts'

/** Who asks, and beside what. */
export interface Asker {
  /** Null for operations that ask for no credential. */
  caller: Caller | null
  request_id: string
  request?: RequestFacts
  /** Where it came from; only operations without a credential look at it. */
  peer?: string
}

/** As it came from outside: ids with their prefix, times as text. */
export interface RawInput {
  params?: unknown
  query?: unknown
  body?: unknown
}

/** The one way to an operation, for the API, pages and tools alike: may they, is the input right, and who changed what is noted. */
export async function runOperation(services: Services, operation: Operation, asker: Asker, input: RawInput = {}): Promise<unknown> {
  if (operation.scope !== 'none') refuseForbidden(asker.caller as Caller, operation, services.config)
  const context = contextOf(services, operation, asker, input.params)
  const params = checkPath(operation, input.params ?? {})
  refuseUnstorable(input.query, '')
  const query = checkInput(operation.query, input.query ?? {}, 'query')
  if (input.body instanceof Readable) {
    if (!operation.csv) throw invalid('Content-Type', 'must be application/json')
    return operation.csv.run(context, { params, query, body: input.body })
  }
  const body = operation.body === null ? undefined : checkInput(operation.body, input.body === undefined ? {} : input.body, 'body')
  return operation.run(context, { params, query, body })
}

/** What the operation declares, held against what the caller has. */
export function refuseForbidden(caller: Caller, operation: Operation, config: Services['config']): void {
  if (caller.mailbox_id && operation.mailboxKeys === 'refused') {
    throw new ApiError('forbidden', 'This key belongs to one mailbox and does not reach beyond it. Use a project-wide key.')
  }
  refuseMissingScope(caller, operation, config)
  if (operation.actsForPerson && !standsForPerson(caller))
    throw new ApiError(
      'forbidden',
      'This acts for the person behind the key, beyond the project. It needs a key with every scope that its maker has; apps cannot do it.',
    )
}

function refuseMissingScope(caller: Caller, operation: Operation, config: Services['config']): void {
  if (operation.scope === 'any' || operation.scope === 'none' || caller.scopes.includes(operation.scope)) return
  if (operation.agentMailbox === 'allowed' && caller.agent_mailbox_id) return
  throw new ApiError('forbidden', `This key lacks the scope "${operation.scope}". It has: ${caller.scopes.join(', ') || 'none'}.`, {
    headers: {
      'www-authenticate': `Bearer error="insufficient_scope", scope="${operation.scope}", resource_metadata="${metadataUrlOf(config, operation)}"`,
    },
  })
}

/**
 * RFC 9728: where a client reads how to get a credential. It goes on only if the resource named there is what it asked, or holds it
 * (section 3.3): the site, or what lives on a host of its own.
 */
export function metadataUrlOf({ PUBLIC_URL, API_URL, AUTH_URL }: Services['config'], { base }: Pick<Operation, 'base'>): string {
  const resource = base === 'api' ? API_URL : AUTH_URL
  return resourceMetadataUrl(`${resource}/`.startsWith(`${PUBLIC_URL}/`) ? PUBLIC_URL : resource)
}

const noFacts: RequestFacts = { idempotency_key: null, payment: null, bodyDigest: () => '' }

/** Every mutation leaves an audit row, in the transaction that makes it. */
function contextOf(services: Services, operation: Operation, asker: Asker, params: unknown): Context & OpenContext {
  const caller = asker.caller as Caller // an operation that asks for no credential is given a context that has none
  const context = { ...services, caller, request_id: asker.request_id, peer: asker.peer ?? '', request: asker.request ?? noFacts }
  if (operation.method === 'GET' || operation.scope === 'none') return context
  const { project_id } = caller
  const row = { project_id, operation: operation.id, caller, target: targetOf(params), request_id: asker.request_id }
  const trail = { database: services.database, row, isLeft: false }
  return { ...context, database: audited(trail), trail }
}

const audited = (trail: AuditTrail): Database => ({
  ...trail.database,
  transaction: (work, options) =>
    trail.database.transaction(async (tx) => {
      const result = await work(tx)
      await leaveTrail(tx, trail)
      return result
    }, options),
})

/** The ids that a path names. An address in a path is a person, who may ask to be forgotten. */
const targetOf = (params: unknown) =>
  Object.fromEntries(Object.entries((params ?? {}) as object).filter(([, value]) => /^[a-z]+_[0-9a-z]{26}$/.test(String(value))))

/** An id that cannot exist, or one of another kind, names nothing: not found, like any other id that names nothing. */
function checkPath(operation: Operation, params: unknown): unknown {
  const parsed = operation.params.safeParse(params)
  if (parsed.success) return parsed.data
  const name = String(parsed.error.issues[0]?.path[0] ?? 'path')
  throw new ApiError('not_found', `${name}: no such thing. Ids look like the ones this API hands out, and each kind has its own prefix.`)
}

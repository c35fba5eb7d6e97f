import { z } from 'zod'
import type { Config } from '../base/config.ts'
import { type ErrorCode, statusOf } from '../base/errors.ts'
import { scopes } from '../operations/context.ts'
import { csvDownload, type Operation } from '../operations/define-operation.ts'

/** The interface description, made from the operations themselves: it cannot drift from what is served. */
const apiVersion = '1.0.0'

type Json = Record<string, unknown>

const tags: Record<string, string> = {
  lists: 'Audiences: newsletters, waitlists and announcement lists',
  subscribers: 'The people on a list',
  contacts: 'A person across all lists of the project',
  suppressions: 'Addresses that get no more mail from this project',
  tokens: 'API keys',
  me: 'Who a key belongs to',
}

const scopeText: Record<(typeof scopes)[number], string> = {
  read: 'View newsletters, subscribers, e-mails and statistics',
  write: 'Create and edit newsletters, subscribers and drafts',
  send: 'Send e-mails',
  admin: 'Account settings, billing, team and keys',
}

const errorText: Partial<Record<ErrorCode, string>> = {
  unauthorized: 'No valid key was sent',
  forbidden: 'The key lacks the scope, or is bound to a mailbox',
  not_found: 'No such thing in this project',
  conflict: 'Somebody else changed it at the same time',
  payload_too_large: 'The body is too large',
  validation_error: 'A value is wrong; the message names the field',
  rate_limited: 'Too many requests; Retry-After says how long to wait',
  service_unavailable: 'The database cannot be reached just now; try again in a few seconds',
}

export function openApiDocument(operations: Operation[], config: Pick<Config, 'API_URL' | 'AUTH_URL'>): Json {
  const components: Json = {}
  const paths: Record<string, Json> = {}
  for (const operation of operations) {
    paths[operation.path] ??= operation.base === 'identity' ? { servers: [{ url: config.AUTH_URL }] } : {}
    Object.assign(paths[operation.path] as Json, { [operation.method.toLowerCase()]: describe(operation, components) })
  }
  const used = new Set(operations.map(tagOf))
  return {
    openapi: '3.1.1',
    info: {
      title: 'Posthaste API',
      version: apiVersion,
      summary: 'Newsletters, subscribers, contacts and mail over one API',
      description:
        'Every request carries `Authorization: Bearer sk_…`. Collections answer a bare array; a `Link` header with `rel="next"` leads to the next page.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: config.API_URL }],
    security: [{ bearerAuth: [] }],
    tags: [...used].map((name) => ({ name, description: tags[name] ?? name })),
    paths,
    components: {
      schemas: { ...components, Error: errorSchema },
      responses: Object.fromEntries(
        [...new Set(operations.flatMap(errorCodesOf))].map((code) => [code, errorResponse(errorText[code] ?? code)]),
      ),
      headers: rateHeaders,
      securitySchemes: {
        bearerAuth: {
          type: 'http',
          scheme: 'bearer',
          description: `A key that begins with sk_. Scopes: ${scopes.map((scope) => `${scope} (${scopeText[scope]})`).join('; ')}.`,
        },
      },
    },
  }
}

const tagOf = (operation: Operation): string => operation.id.split('.')[0] as string

function describe(operation: Operation, components: Json): Json {
  const scope = operation.scope === 'any' ? 'Any valid key will do.' : `Needs the scope \`${operation.scope}\`.`
  return {
    operationId: operation.id.replaceAll(/\.(\w)/g, (_dot, letter: string) => letter.toUpperCase()),
    tags: [tagOf(operation)],
    summary: operation.summary,
    description: [operation.description, operation.csv?.about, scope].filter(Boolean).join('\n\n'),
    'x-scope': operation.scope,
    parameters: [...parametersOf(operation.params, 'path', components), ...parametersOf(operation.query, 'query', components)],
    ...requestBodyOf(operation, components),
    responses: { [operation.status]: successOf(operation, components), ...errorsOf(operation) },
  }
}

function parametersOf(schema: z.ZodObject, place: 'path' | 'query', components: Json): Json[] {
  return Object.entries(schema.shape).map(([name, field]) => {
    const { description, ...rest } = toJsonSchema(field as z.ZodType, components)
    return { name, in: place, required: place === 'path', ...(description ? { description } : {}), schema: rest }
  })
}

function requestBodyOf(operation: Operation, components: Json): Json {
  if (operation.body === null) return {}
  const schema = toJsonSchema(operation.body, components)
  const csv = operation.csv ? { 'text/csv': { schema: { type: 'string', description: operation.csv.about } } } : {}
  return {
    requestBody: {
      required: Array.isArray(schema.required) && schema.required.length > 0,
      content: { 'application/json': { schema }, ...csv },
    },
  }
}

const headerNames = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const
const rateHeaders = {
  'X-RateLimit-Limit': { description: 'Requests a minute', schema: { type: 'integer' } },
  'X-RateLimit-Remaining': { description: 'What is left of them in this window', schema: { type: 'integer' } },
  'X-RateLimit-Reset': { description: 'Unix seconds at which the window ends', schema: { type: 'integer' } },
  Link: { description: 'Leads to the next page with rel="next"; absent on the last', schema: { type: 'string' } },
}
const headerRefs = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

function successOf(operation: Operation, components: Json): Json {
  const paged = 'cursor' in operation.query.shape ? ['Link'] : []
  const headers = headerRefs([...headerNames, ...paged])
  if (operation.result === null) return { description: 'Done', headers }
  if (operation.result === csvDownload)
    return { description: 'A CSV file, streamed', headers, content: { 'text/csv': { schema: { type: 'string' } } } }
  return {
    description: operation.summary,
    headers,
    content: { 'application/json': { schema: toJsonSchema(operation.result, components) } },
  }
}

function errorCodesOf(operation: Operation): ErrorCode[] {
  const takesInput = operation.body !== null || Object.keys(operation.query.shape).length > 0
  const implied: ErrorCode[] = ['unauthorized', 'forbidden', 'rate_limited', 'service_unavailable']
  if (operation.body !== null) implied.push('payload_too_large')
  if (takesInput) implied.push('validation_error')
  return [...new Set([...implied, ...operation.errors])].sort((a, b) => statusOf(a) - statusOf(b))
}

const errorsOf = (operation: Operation): Json =>
  Object.fromEntries(errorCodesOf(operation).map((code) => [statusOf(code), { $ref: `#/components/responses/${code}` }]))

const errorSchema = {
  type: 'object',
  required: ['error'],
  properties: {
    error: { type: 'object', required: ['code', 'message'], properties: { code: { type: 'string' }, message: { type: 'string' } } },
  },
}
const errorResponse = (description: string): Json => ({
  description,
  headers: headerRefs(headerNames),
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
})

/** The schema as it is on the wire. Schemas with an id of their own become components, said once. */
function toJsonSchema(schema: z.ZodType, components: Json): Json {
  const made = z.toJSONSchema(z.object({ it: schema }), { io: 'input', unrepresentable: 'any' })
  const text = JSON.stringify(made).replaceAll('#/$defs/', '#/components/schemas/')
  const { properties, $defs = {} } = JSON.parse(text) as { properties: { it: Json }; $defs?: Json }
  for (const [name, definition] of Object.entries($defs)) {
    const { id: _id, ...rest } = definition as Json
    components[name] = rest
  }
  return properties.it
}

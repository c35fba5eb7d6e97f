import type { z } from 'zod'
import type { Config } from '../base/config.ts'
import { type ErrorCode, statusOf } from '../base/errors.ts'
import { scopes, scopeWords } from '../operations/context.ts'
import { fileTypeOf, type Operation } from '../operations/define-operation.ts'
import { payableHeaders, payableParameters, paymentInfo, paymentProblemSchema, paymentRequired } from './openapi-payment.ts'
import { type Json, toJsonSchema } from './openapi-schema.ts'
import { webhookParameters, webhooksOf } from './openapi-webhooks.ts'

/** The interface description, made from the operations themselves: it cannot drift from what is served. */
const apiVersion = '1.0.0'

const tags: Record<string, string> = {
  lists: 'Audiences: newsletters, waitlists and announcement lists',
  senders: 'Whom a list’s mail is from, and the domain behind it',
  site_domains: 'Domains that the sites of lists are shown at',
  subscribers: 'The people on a list',
  waitlists: 'Lists on which people stand in line: joining, referring, inviting',
  deliveries: 'Who got a post, who did not, and why',
  posts: 'What is written, sent to a list and shown on its site',
  stats: 'How many there are, what was sent to them, and what they did with it',
  contacts: 'A person across all lists of the project',
  contact_groups: 'Contacts put together under a name',
  mailboxes: 'Addresses that take mail: for good, for a while, or to pass it on',
  inbox: 'The e-mails of a mailbox: to wait for, read and answer',
  emails: 'Single e-mails: receipts, notices, codes',
  calendar_events: 'What mailboxes were invited to by mail',
  events: 'What happens in the project, as it happens',
  webhooks: 'Endpoints of yours that are told of events',
  suppressions: 'Addresses that get no more mail from this project',
  tokens: 'API keys',
  apps: 'Apps that members have let in',
  sessions: 'Browsers that somebody is signed in with',
  me: 'Who a key belongs to',
  agents: 'Agents: how they register and are claimed, and how their human looks after them',
  projects: 'Spaces, each with its own lists, contacts, mail and team',
  members: 'Who works on the project, and as what',
  invites: 'Asking people into the project, and being asked',
  usage: 'What was sent this month, and what is left',
  billing: 'Plans and the subscription to one',
  overage: 'Sending more than the plan has',
}

const errorText: Partial<Record<ErrorCode, string>> = {
  anonymous_not_enabled: 'Agents cannot register without a human on this server',
  verified_email_not_enabled: 'Agents cannot register with an e-mail address on this server',
  unsupported_credential_type: 'Only api_key can be asked for',
  otp_not_generated: 'No code is open; ask for one first',
  invalid_claim_token: 'The claim token is not known',
  otp_invalid: 'The code is wrong',
  claimed_or_in_flight: 'The agent has been claimed, or is being claimed just now',
  previously_claimed: 'The agent has been claimed already',
  claim_expired: 'The claim token has ended',
  otp_expired: 'The code has ended; ask for a new one',
  otp_attempts_exceeded: 'The code was tried too often; ask for a new one',
  unauthorized: 'No valid key was sent',
  limit_exceeded: 'The plan has no room left for this month',
  spending_cap_reached: 'The plan is used up, and so is the monthly cap on overage',
  forbidden: 'The key lacks the scope, or is bound to a mailbox',
  not_found: 'No such thing in this project',
  already_subscribed: 'The project has this plan already',
  provider_error: 'The other side refused, or gave no clear answer; the message says whether to try again',
  conflict: 'Somebody else changed it at the same time',
  request_timeout: 'The body did not come to its end in time',
  payload_too_large: 'The body is too large',
  validation_error: 'A value is wrong; the message names the field',
  rate_limited: 'Too many requests; Retry-After says how long to wait',
  service_unavailable: 'The database cannot be reached just now, or too much is waiting or being sent; try again in a few seconds',
}

export function openApiDocument(operations: Operation[], config: Pick<Config, 'API_URL' | 'AUTH_URL' | 'PAYMENTS'>): Json {
  const components: Json = {}
  const paths: Record<string, Json> = {}
  for (const operation of operations) {
    paths[operation.path] ??= operation.base === 'identity' ? { servers: [{ url: config.AUTH_URL }] } : {}
    const isSold = operation.isPayable && config.PAYMENTS !== 'off'
    const described = { ...describe(operation, components), ...(isSold ? { 'x-payment-info': paymentInfo } : {}) }
    Object.assign(paths[operation.path] as Json, { [operation.method.toLowerCase()]: described })
  }
  const webhooks = webhooksOf(components)
  const used = new Set([...operations.map(tagOf), 'webhooks'])
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
    servers: serversOf(config.API_URL),
    security: [{ bearerAuth: [] }],
    tags: [...used].map((name) => ({ name, description: tags[name] ?? name })),
    paths,
    webhooks,
    components: {
      schemas: { ...components, Error: errorSchema, AgentError: agentErrorSchema, PaymentProblem: paymentProblemSchema },
      responses: Object.fromEntries([...new Set(operations.flatMap(errorCodesOf))].map((code) => [code, errorOf(code)])),
      headers: rateHeaders,
      parameters: webhookParameters,
      securitySchemes: {
        bearerAuth: {
          type: 'http',
          scheme: 'bearer',
          description: `A key that begins with sk_. Scopes: ${scopes.map((scope) => `${scope} (${scopeWords[scope]})`).join('; ')}.`,
        },
      },
    },
  }
}

/** The whole API also lives below each space, for credentials of that space. */
const serversOf = (apiUrl: string): Json[] => [
  { url: apiUrl },
  {
    url: apiUrl.replace(/\/v1$/, '/{owner}/{space}/v1'),
    description: 'The same, for credentials of one space',
    variables: {
      owner: { default: 'owner', description: 'Who owns the space: the first half of `space` in GET /api/me' },
      space: { default: 'owner', description: 'The space: the second half' },
    },
  },
]

const tagOf = (operation: Operation): string => operation.id.split('.')[0] as string

function describe(operation: Operation, components: Json): Json {
  return {
    operationId: operation.id.replaceAll(/\.(\w)/g, (_dot, letter: string) => letter.toUpperCase()),
    tags: [tagOf(operation)],
    ...(operation.deprecated ? { deprecated: true } : {}),
    summary: operation.summary,
    description: [operation.description, operation.csv?.about, scopeNote(operation)].filter(Boolean).join('\n\n'),
    'x-scope': operation.scope,
    ...(operation.scope === 'none' ? { security: [] } : {}),
    parameters: [
      ...parametersOf(operation.params, 'path', components),
      ...parametersOf(operation.query, 'query', components),
      ...(operation.isPayable ? payableParameters : []),
    ],
    ...requestBodyOf(operation, components),
    responses: { ...successesOf(operation, components), ...errorsOf(operation) },
  }
}

function scopeNote({ scope, actsForPerson }: Operation): string {
  if (actsForPerson) return `Needs the scope \`${scope}\`, and a key with every scope that its maker has. Apps are refused.`
  if (scope === 'none') return 'No key is needed.'
  return scope === 'any' ? 'Any valid key will do.' : `Needs the scope \`${scope}\`.`
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
/** RFC 6750 section 3, RFC 9728 section 5.1. */
const unauthorizedHeader = {
  'WWW-Authenticate': {
    description: 'How to authenticate: `Bearer`, with the address of the protected resource metadata in `resource_metadata`',
    schema: { type: 'string' },
  },
}
const headerRefs = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** What is made once per Idempotency-Key is shown again with 200. */
function successesOf(operation: Operation, components: Json): Json {
  const success = successOf(operation, components)
  const repeat = { ...success, description: 'The same Idempotency-Key again: what the first request made; nothing is done' }
  return { [operation.status]: success, ...(operation.isPayable && operation.status !== 200 ? { 200: repeat } : {}) }
}

function successOf(operation: Operation, components: Json): Json {
  const paged = 'cursor' in operation.query.shape ? ['Link'] : []
  const headers = { ...headerRefs([...headerNames, ...paged]), ...(operation.isPayable ? payableHeaders : {}) }
  if (operation.result === null) return { description: 'Done', headers }
  const fileType = fileTypeOf(operation)
  if (fileType !== null) return { description: operation.summary, headers, content: { [fileType]: { schema: { type: 'string' } } } }
  const schema = toJsonSchema(operation.result, components)
  return {
    description: operation.summary,
    headers,
    content: { 'application/json': { schema: operation.isEnveloped ? envelopeOf(schema) : schema } },
  }
}

const envelopeOf = (data: Json): Json => ({
  type: 'object',
  required: ['ok', 'data'],
  properties: { ok: { const: true }, data },
})

function errorCodesOf(operation: Operation): ErrorCode[] {
  const takesInput = operation.body !== null || Object.keys(operation.query.shape).length > 0
  const implied: ErrorCode[] = ['rate_limited', 'service_unavailable']
  if (operation.scope !== 'none') implied.push('unauthorized', 'forbidden')
  if (operation.body !== null) implied.push('request_timeout', 'payload_too_large')
  if (takesInput) implied.push('validation_error')
  return [...new Set([...implied, ...operation.errors])].sort((a, b) => statusOf(a) - statusOf(b))
}

function errorsOf(operation: Operation): Json {
  const byStatus = Map.groupBy(errorCodesOf(operation), statusOf)
  const told = [...byStatus].map(([status, codes]) => [status, errorsOfStatus(codes, operation.isEnveloped)])
  return { ...Object.fromEntries(told), ...(operation.isPayable ? { 402: paymentRequired(headerRefs(headerNames)) } : {}) }
}

/** Two errors of one status are told in one place: a status can stand there once. */
function errorsOfStatus(codes: ErrorCode[], isEnveloped: boolean): Json {
  if (codes.length === 1 && !isEnveloped) return { $ref: `#/components/responses/${codes[0]}` }
  const description = codes.map((code) => `\`${code}\`: ${errorText[code] ?? code}`).join('. ')
  return errorResponse(description, isEnveloped ? 'AgentError' : 'Error')
}

const errorSchema = {
  type: 'object',
  required: ['error'],
  properties: {
    error: { type: 'object', required: ['code', 'message'], properties: { code: { type: 'string' }, message: { type: 'string' } } },
  },
}
const agentErrorSchema = { ...errorSchema, required: ['ok', 'error'], properties: { ok: { const: false }, ...errorSchema.properties } }
const errorResponse = (description: string, schema: 'Error' | 'AgentError' = 'Error'): Json => ({
  description,
  headers: headerRefs(headerNames),
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } },
})

function errorOf(code: ErrorCode): Json {
  const { headers, ...response } = errorResponse(errorText[code] ?? code)
  return { ...response, headers: { ...(headers as Json), ...(code === 'unauthorized' ? unauthorizedHeader : {}) } }
}

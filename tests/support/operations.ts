import assert from 'node:assert/strict'
import { z } from 'zod'
import { formatId, type IdPrefix, newId } from '../../server/base/ids.ts'
import { fileTypeOf, type Operation } from '../../server/operations/define-operation.ts'
import { fileMail } from './inbound.ts'
import type { TestApp } from './posthaste.ts'
import type { Answer, TestProject } from './project.ts'

/**
 * What the tests that walk all operations need: real things to put into paths, bodies that are taken, and what every answer has.
 * A new operation is covered by itself; one with a new kind of id, or a body that cannot be guessed, fails until it has a line here.
 */
export interface Fixtures {
  /** By the prefix of the id, and by name for parameters that are none. */
  [kind: string]: string
}

let number = 0

/** One of each kind of thing, made over the API. */
export async function makeFixtures(app: TestApp, project: TestProject): Promise<Fixtures> {
  const suffix = `${++number}`
  // With no limit there would be nothing to buy.
  await project.setPlan('max')
  const made = async (path: string, body: object) => {
    const answer = await project.post(path, body)
    assert.equal(answer.status, 201, `${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const list = await made('/lists', { name: `Fixture ${suffix}` })
  const waitlist = await made('/lists', { name: `Waitlist ${suffix}`, type: 'waitlist' })
  const mailbox = await made('/mailboxes', { name: `Fixture ${suffix}` })
  const message = { from: mailbox.address, to: `recipient-${suffix}@example.org`, subject: 'Fixture', text: 'Hello' }
  const email = await made('/emails', message)
  const received = await receivedIn(app, project, mailbox)
  const post = await made(`/lists/${list.id}/posts`, { subject: 'Fixture', body_html: '<p>Hello</p>' })
  await project.events()
  const subscriber = await made(`/lists/${list.id}/subscribers`, { email: `fixture-${suffix}@example.org`, verified: true })
  const created = (await project.eventsWithData()).find((event) => event.type === 'subscriber.created')
  const group = await made('/contact-groups', { name: `Fixture ${suffix}` })
  await project.post(`/contact-groups/${group.id}/contacts`, { contact_ids: [created?.data.contact_id] })
  const calendarEvent = await invitedIn(app, project, mailbox)
  await project.events()
  const key = await made('/api/tokens', { name: 'Fixture', scope: 'read' })
  const webhook = await made('/webhooks', { url: app.url, events: ['post.liked'] })
  const tested = await project.post(`/webhooks/${webhook.id}/test`)
  const suppression = await made('/suppressions', { email: `suppressed-${suffix}@example.org` })
  return {
    lst: list.id,
    waitlist: waitlist.id,
    mbx: mailbox.id,
    mailbox_address: mailbox.address,
    eml: email.id,
    received_email: received,
    number: '1',
    post: post.id,
    sub: subscriber.id,
    con: String(created?.data.contact_id),
    grp: group.id,
    cal: calendarEvent,
    key: key.id,
    whk: webhook.id,
    whd: tested.body.delivery_id,
    webhook_url: app.url,
    ses: await project.newSession(),
    email: suppression.email,
    prj: formatId('prj', project.id),
    usr: formatId('usr', (await project.addMember('owner')).user_id),
    inv: await project.addOwnInvite(),
    app: await project.addApp(),
    agent: await project.addAgent(),
    claim_token: await project.newClaimToken(),
    other_claim_token: await project.newClaimToken(),
  }
}

/** The id of a mail with an attachment that came into the mailbox. */
async function receivedIn(app: TestApp, project: TestProject, mailbox: { id: string; address: string }): Promise<string> {
  const headers = ['Content-Type: multipart/mixed; boundary=b']
  const text = '--b\r\n\r\nHello\r\n--b\r\nContent-Type: image/png; name=a.png\r\n\r\nx\r\n--b--'
  await fileMail(app, { recipients: [mailbox.address], headers, text })
  const { body } = await project.get(`/mailboxes/${mailbox.id}/emails?direction=inbound`)
  return body[0].id
}

/** The id of an event that a mail into the mailbox brought. */
async function invitedIn(app: TestApp, project: TestProject, mailbox: { id: string; address: string }): Promise<string> {
  const event = ['BEGIN:VEVENT', 'UID:fixture', 'DTSTART:20300101T100000Z', 'SUMMARY:Fixture', 'END:VEVENT']
  const text = ['BEGIN:VCALENDAR', 'METHOD:REQUEST', ...event, 'END:VCALENDAR'].join('\r\n')
  await fileMail(app, { recipients: [mailbox.address], headers: ['Content-Type: text/calendar; method=REQUEST; charset=utf-8'], text })
  const { body } = await project.get(`/calendar-events?mailbox_id=${mailbox.id}`)
  return body[0].id
}

/** Ids of every kind that name nothing. */
export const missing = (): Fixtures => ({
  ...Object.fromEntries(
    (['lst', 'mbx', 'sub', 'con', 'key', 'ses', 'prj', 'usr', 'inv', 'app', 'post', 'grp', 'eml', 'cal', 'whk', 'whd'] as IdPrefix[]).map(
      (prefix) => [prefix, formatId(prefix, newId())],
    ),
  ),
  agent: formatId('usr', newId()),
  received_email: formatId('eml', newId()),
  waitlist: formatId('lst', newId()),
  number: '2',
  email: `nobody-${newId()}@example.org`,
})

interface JsonSchema {
  type?: string
  format?: string
  pattern?: string
  enum?: unknown[]
  const?: unknown
  default?: unknown
  minimum?: number
  required?: string[]
  properties?: Record<string, JsonSchema>
  items?: JsonSchema
  anyOf?: JsonSchema[]
}

export const schemaOf = (schema: z.ZodType): JsonSchema => z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema

/** `lst` for a parameter that takes list ids, `agent` for one that takes users who are agents, and so on; else its own name. */
export function kindOf(operation: Operation, param: string): string {
  const kind = /^\^([a-z]+)_/.exec(schemaOf(operation.params.shape[param] as z.ZodType).pattern ?? '')?.[1] ?? param
  if (kind === 'lst' && operation.id.startsWith('waitlists.')) return 'waitlist'
  if (kind === 'eml' && operation.id.startsWith('inbox.')) return 'received_email'
  return kind === 'usr' && operation.id.startsWith('agents.') ? 'agent' : kind
}

export const paramsOf = (operation: Operation): string[] => Object.keys(operation.params.shape)

/** The path with each parameter filled in. `replaced` are raw, as they would stand in a URL. */
export function pathOf(operation: Operation, fixtures: Fixtures, replaced: Record<string, string> = {}): string {
  return operation.path.replace(/\{(\w+)\}/g, (_, param: string) => {
    const kind = kindOf(operation, param)
    return replaced[param] ?? encodeURIComponent(fixtures[kind] ?? assert.fail(`${operation.id}: makeFixtures has no ${kind}`))
  })
}

/** What cannot be guessed from a schema. */
const special: Record<string, object | ((fixtures: Fixtures) => object)> = {
  'agents.claim': ({ claim_token = '' }) => ({ claim_token, email: `claim-${claim_token.slice(3, 20)}@example.org` }),
  'agents.complete': ({ other_claim_token }) => ({ claim_token: other_claim_token }),
  // Another plan each time: the same one twice is refused.
  'billing.subscribe': () => ({ plan: ['light', 'plus', 'max'][++number % 3], payment_method_id: 'pm_card_visa' }),
  // Another name each time: two groups cannot share one.
  'contact_groups.create': () => ({ name: `Example ${++number}` }),
  'contact_groups.update': () => ({ name: `Example ${++number}` }),
  'emails.send': (fixtures) => ({ from: fixtures.mailbox_address, text: 'Hello' }),
  // Another each time: of one that is in use, a second list gets a refusal.
  'site_domains.connect': () => ({ domain: `site-${++number}.example.org` }),
  'tokens.create': { scope: 'read' },
  'waitlists.invite': { all: true },
  'waitlists.join': () => ({ email: `example-${++number}@example.org` }),
  'webhooks.create': ({ webhook_url: url }) => ({ url, events: ['post.liked'] }),
}

/**
 * What the example gets where it cannot be a yes; there are tests of their own for those. The right code of a claim is in a mail, and of
 * use once. The fixture's post is a draft that needs no approval.
 */
const refusedExamples: Record<string, number> = {
  'agents.complete': 400,
  'posts.cancel': 422,
  'posts.reject': 422,
  'posts.unpublish': 422,
  'posts.pause': 422,
  'posts.resume': 422,
  'posts.abort': 422,
  'deliveries.retry': 422,
  // The fixture's list has the default sender.
  'senders.rotate': 422,
  // The fixture's delivery is a test.
  'webhooks.replay_delivery': 422,
}
export const exampleStatus = (operation: Operation): number => refusedExamples[operation.id] ?? operation.status

/** No field is required, and one of them is: without any it is 422. */
export const needsSome = new Set(['waitlists.join'])

/** The smallest body that the operation takes; undefined for one that takes none. */
export function bodyOf(operation: Operation, fixtures: Fixtures): Record<string, unknown> | undefined {
  if (operation.body === null) return undefined
  const known = special[operation.id]
  return { ...(exampleOf(schemaOf(operation.body), fixtures) as object), ...(typeof known === 'function' ? known(fixtures) : known) }
}

function exampleOf(schema: JsonSchema, fixtures: Fixtures): unknown {
  if (schema.enum) return schema.enum[0]
  if (schema.const !== undefined) return schema.const
  if (schema.anyOf) return exampleOf(schema.anyOf[0] as JsonSchema, fixtures)
  const prefix = /^\^([a-z]+)_/.exec(schema.pattern ?? '')?.[1]
  if (prefix) return fixtures[prefix]
  if (schema.format === 'email') return `example-${++number}@example.org`
  if (schema.format === 'date-time') return '2099-01-01T00:00:00Z'
  switch (schema.type) {
    case 'object':
      return Object.fromEntries((schema.required ?? []).map((name) => [name, exampleOf(schema.properties?.[name] ?? {}, fixtures)]))
    case 'array':
      return [exampleOf(schema.items ?? {}, fixtures)]
    case 'integer':
    case 'number':
      return schema.minimum ?? 1
    case 'boolean':
      return true
    default:
      return 'example'
  }
}

/** Every field of the body, or none. */
export const fieldsOf = (operation: Operation): string[] => Object.keys((operation.body && schemaOf(operation.body).properties) ?? {})

export interface Sent {
  path?: string
  body?: unknown
  /** Goes out as it is, in place of `body`. */
  raw?: string | Uint8Array<ArrayBuffer>
  type?: string
}

/** Asks for an operation through a key. */
export function ask(who: Pick<TestProject, 'request'>, operation: Operation, sent: Sent & { path: string }): Promise<Answer> {
  // A stream ends when it is told to.
  if (fileTypeOf(operation) === 'text/event-stream' && !sent.path.includes('seconds='))
    return who.request('GET', `${sent.path}${sent.path.includes('?') ? '&' : '?'}seconds=0`)
  const raw = sent.raw ?? (sent.body === undefined ? undefined : JSON.stringify(sent.body))
  if (raw === undefined || operation.method === 'GET') return who.request(operation.method, sent.path)
  return who.request(operation.method, sent.path, { body: raw, headers: { 'content-type': sent.type ?? 'application/json' } })
}

/** What the contract promises of every answer, and of every error. */
export function assertAnswer(answer: Answer, about: string): void {
  for (const name of ['limit', 'remaining', 'reset'])
    assert.match(answer.headers.get(`x-ratelimit-${name}`) ?? '', /^\d+$/, `${about}: ${name}`)
  assert.ok(answer.headers.get('x-request-id'), about)
  if (answer.status < 400) return
  assert.ok(answer.status < 500, `${about}: ${answer.status} ${JSON.stringify(answer.body)}`)
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8', about)
  const { ok, ...body } = answer.body
  // The agent endpoints have an envelope.
  assert.ok(ok === undefined || ok === false, about)
  assert.deepEqual(Object.keys(body), ['error'], about)
  assert.deepEqual(Object.keys(answer.body.error), ['code', 'message'], about)
  assert.equal(typeof answer.body.error.message, 'string', about)
}

export function assertRefused(answer: Answer, status: number, code: string, about: string): void {
  assertAnswer(answer, about)
  assert.deepEqual([answer.status, answer.body?.error?.code], [status, code], `${about}: ${JSON.stringify(answer.body)}`)
}

/** Filled in the background, or touched by being asked at all. */
const restless = ['api_keys', 'event_interests', 'list_activity', 'list_activity_hours', 'messages', 'webhook_deliveries', 'webhook_queues']

/** Everything that a project has, as one text: the same text means that nothing was changed. */
export async function stateOf({ services }: TestApp, project: TestProject): Promise<string> {
  const { rows: tables } = await services.database.execute(
    `select table_name as name from information_schema.columns where table_schema = 'public' and column_name = 'project_id' order by 1`,
  )
  const states: string[] = []
  for (const { name } of tables.filter((table) => !restless.includes(String(table.name)))) {
    const { rows } = await services.database.execute(`select t::text as row from ${name} t where project_id = $1 order by 1`, [project.id])
    states.push(`${name}: ${rows.map((row) => row.row).join('\n')}`)
  }
  return states.join('\n')
}

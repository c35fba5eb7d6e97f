import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validate } from 'mppx/discovery'
import { startApp } from '../../tests/support/posthaste.ts'
import { speaking } from '../../tests/support/project.ts'
import { sendRaw } from '../../tests/support/raw-http.ts'
import { eventTypes } from '../events/catalogue.ts'
import { allOperations } from '../operations/all-operations.ts'

const urls = { API_URL: 'https://api.example.com/mail/v1', AUTH_URL: 'https://id.example.com/' }
const app = await startApp(urls)

interface Described {
  operationId: string
  summary: string
  parameters: { name: string; in: string; required: boolean }[]
  requestBody?: { content: Record<string, unknown> }
  responses: Record<string, { $ref?: string; content?: Record<string, unknown> }>
}
interface Document {
  openapi: string
  info: { version: string }
  servers: { url: string }[]
  paths: Record<string, Record<string, Described> & { servers?: { url: string }[] }>
  webhooks: Record<string, { post: Described }>
  components: Record<string, Record<string, unknown>>
}

const { status, headers, body } = await speaking(app.url, null).get('/v1/openapi.json')
const document = body as Document

test('it is served without a key, as OpenAPI 3.1 of the contract’s version', () => {
  assert.equal(status, 200)
  assert.match(headers.get('content-type') ?? '', /^application\/json/)
  assert.match(document.openapi, /^3\.1\./)
  assert.equal(document.info.version, '1.0.0')
  assert.deepEqual(
    document.servers.map(({ url }) => url),
    [urls.API_URL, 'https://api.example.com/mail/{owner}/{space}/v1'],
  )
})

test('every operation is in it, with its parameters, its success and its errors, and nothing else is', () => {
  const described = new Set<Described>()
  for (const operation of allOperations) {
    const found = document.paths[operation.path]?.[operation.method.toLowerCase()] ?? assert.fail(operation.id)
    described.add(found)
    const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
    assert.deepEqual(
      found.parameters.filter((parameter) => parameter.in === 'path').map((parameter) => parameter.name),
      inPath,
    )
    assert.deepEqual(
      found.parameters.filter((parameter) => parameter.in === 'query').map((parameter) => parameter.name),
      Object.keys(operation.query.shape),
    )
    assert.equal(found.requestBody !== undefined, operation.body !== null, operation.id)
    for (const code of [operation.status, 429, ...(operation.scope === 'none' ? [] : [401, 403])])
      assert.ok(found.responses[code], `${operation.id} ${code}`)
    assert.ok(found.summary.length > 0)
  }
  const all = Object.values(document.paths).flatMap(({ servers: _servers, ...methods }) => Object.values(methods))
  assert.equal(all.length, described.size)
  assert.equal(new Set(all.map((one) => one.operationId)).size, all.length)
})

test('every event is in it, with the headers that it is sent with and an example', () => {
  assert.deepEqual(Object.keys(document.webhooks), eventTypes)
  const sent = ['X-Service-Event', 'X-Service-Signature', 'X-Service-Delivery-Id', 'webhook-id', 'webhook-timestamp', 'webhook-signature']
  const parameters = document.components.parameters as Record<string, { name: string }>
  assert.deepEqual(
    Object.values(parameters).map(({ name }) => name),
    sent,
  )
  for (const [type, { post }] of Object.entries(document.webhooks)) {
    assert.equal(post.parameters.length, sent.length, type)
    assert.ok(post.requestBody, type)
    type Content = { schema: { required: string[] }; example: { type: string } }
    const { schema, example } = post.requestBody.content['application/json'] as Content
    assert.deepEqual(schema.required, ['id', 'type', 'created_at', 'data'])
    assert.equal(example.type, type)
    assert.deepEqual(Object.keys(post.responses), ['410', '2XX', 'default'])
  }
})

test('what agents ask for needs no key, and is answered in their envelope', () => {
  for (const { path, errors } of allOperations.filter((operation) => operation.isEnveloped)) {
    const found = document.paths[path]?.post as Described & { security: unknown[] }
    assert.deepEqual(found.security, [])
    for (const [code, response] of Object.entries(found.responses)) {
      const text = JSON.stringify(response.content)
      assert.match(text, Number(code) < 300 ? /"required":\["ok","data"\]/ : /schemas\/AgentError/)
    }
    const told = JSON.stringify(found.responses)
    for (const error of errors) assert.ok(told.includes(error), error)
  }
})

test('the header that tells a stranger how to get in is described, and sent', async () => {
  const described = document.components.responses?.unauthorized as { headers: object } | undefined
  assert.ok(described && 'WWW-Authenticate' in described.headers)
  assert.match((await speaking(app.url, null).get('/lists')).headers.get('www-authenticate') ?? '', /^Bearer resource_metadata=/)
})

test('the identity paths say where they live', () => {
  for (const { path, base } of allOperations)
    assert.deepEqual(document.paths[path]?.servers, base === 'identity' ? [{ url: 'https://id.example.com' }] : undefined)
})

test('every reference leads somewhere', () => {
  const references = JSON.stringify(document).match(/#\/components\/\w+\/[\w.-]+/g) ?? []
  assert.ok(references.length > 0)
  for (const reference of new Set(references)) {
    const [, , kind, name] = reference.split('/')
    assert.ok(document.components[kind as string]?.[name as string], reference)
  }
})

test('the next page is linked at the public address, whatever the program listens on', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Linked' })
  const path = `/lists/${list.id}/subscribers`
  for (const email of ['a@example.org', 'b@example.org']) await project.post(path, { email, verified: true })
  const { headers: paged } = await project.get(`${path}?limit=1&search=example&status=active`)
  const next = new URL(/^<(.*)>; rel="next"$/.exec(paged.get('link') ?? '')?.[1] ?? assert.fail())
  assert.equal(next.origin + next.pathname, `${urls.API_URL}${path}`)
  assert.deepEqual(
    [next.searchParams.get('limit'), next.searchParams.get('search'), next.searchParams.get('status')],
    ['1', 'example', 'active'],
  )
  const rest = await project.get(`${path}${next.search}`)
  assert.deepEqual(
    rest.body.map((subscriber: { email: string }) => subscriber.email),
    ['a@example.org'],
  )
})

test('a request that names the whole address, as proxies send it, is paged too', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Whole' })
  const path = `/lists/${list.id}/subscribers`
  for (const email of ['a@example.org', 'b@example.org']) await project.post(path, { email, verified: true })
  const target = `http://elsewhere.example/v1${path}?limit=1`
  const answer = await sendRaw(app.url, `GET ${target} HTTP/1.1\r\nHost: elsewhere.example\r\nAuthorization: Bearer ${project.key}\r\n\r\n`)
  assert.equal(answer.status, 200, answer.body)
  assert.ok(answer.headers.link?.startsWith(`<${urls.API_URL}${path}?limit=1&cursor=`), answer.headers.link)
})

test('what may be paid for says how, in the words that payment clients look for', () => {
  const payable = allOperations.filter((operation) => operation.isPayable)
  assert.ok(payable.length > 0)
  for (const { path, method } of payable) {
    const found = document.paths[path]?.[method.toLowerCase()] as Described
    const inHeader = found.parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name)
    assert.deepEqual(inHeader, ['Idempotency-Key', 'Payment-Authorization'])
    const refusal = found.responses['402'] as { headers: object; content: object }
    assert.ok('WWW-Authenticate' in refusal.headers)
    assert.ok('application/problem+json' in refusal.content)
  }
  const problems = validate(document)
  assert.deepEqual(
    problems.filter(({ severity }) => severity === 'error'),
    [],
  )
})

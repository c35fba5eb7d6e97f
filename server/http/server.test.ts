import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'
import { sendRaw } from '../../tests/support/raw-http.ts'

const app = await startApp()
const host = new URL(app.url).host

test('a browser on any site may ask, with any header, and read the headers that matter', async () => {
  const preflight = await fetch(`${app.url}/v1/lists`, {
    method: 'OPTIONS',
    headers: {
      origin: 'https://dashboard.example',
      'access-control-request-method': 'PATCH',
      'access-control-request-headers': 'authorization,content-type,x-request-id',
    },
  })
  assert.equal(preflight.status, 204)
  assert.equal(preflight.headers.get('access-control-allow-origin'), '*')
  assert.deepEqual(preflight.headers.get('access-control-allow-methods')?.split(/, */).sort(), ['DELETE', 'GET', 'PATCH', 'POST', 'PUT'])
  assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /authorization/i)
  assert.equal(preflight.headers.get('access-control-allow-credentials'), null)

  const project = await app.newProject()
  for (const path of ['/lists', '/nothing', '/lists/lst_x']) {
    const { headers } = await project.request('GET', path, { headers: { origin: 'https://dashboard.example' } })
    assert.equal(headers.get('access-control-allow-origin'), '*')
    const exposed = headers.get('access-control-expose-headers')?.toLowerCase().split(/, */) ?? []
    for (const name of [
      'link',
      'x-ratelimit-limit',
      'x-ratelimit-remaining',
      'x-ratelimit-reset',
      'retry-after',
      'www-authenticate',
      'x-request-id',
    ])
      assert.ok(exposed.includes(name), name)
  }
})

test('a request id that is safe is kept, any other is replaced by one of ours', async () => {
  const project = await app.newProject()
  const idFor = async (given: string) =>
    (await project.request('GET', '/lists', { headers: { 'x-request-id': given } })).headers.get('x-request-id')
  for (const good of ['abcdefgh', '0af76519-16cd-43dd-8448-eb211c80319c', 'a.b:c_d-e1', 'x'.repeat(128)])
    assert.equal(await idFor(good), good)
  const bad = [
    '',
    'short',
    'x'.repeat(129),
    'has space in it',
    '<script>alert(1)</script>',
    'quote"quote',
    'semi;colon',
    'new\\nline',
    'comma,comma',
    'ünïcode-id',
  ]
  const ids = new Set<string | null>()
  for (const given of bad) ids.add(await idFor(given))
  assert.equal(ids.size, bad.length)
  for (const id of ids) assert.match(id ?? '', /^req_[0-9a-z]{26}$/)
})

test('answers are JSON that no browser guesses about, pages of errors included', async () => {
  const project = await app.newProject()
  for (const path of ['/lists', '/nothing', '/v1/openapi.json']) {
    const { headers } = await project.get(path)
    assert.match(headers.get('content-type') ?? '', /^application\/json; charset=utf-8$/)
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
  }
})

test('live and ready are told without a key', async () => {
  for (const [path, status] of [
    ['/healthz', 'live'],
    ['/readyz', 'ready'],
  ]) {
    const response = await fetch(app.url + path)
    assert.equal(response.status, 200)
    assert.deepEqual(await response.json(), { status })
  }
})

test('what is not HTTP is answered 400 with the contract’s body, and the connection closed', async () => {
  const wrong = [
    'rubbish\r\n\r\n',
    'GET /v1/lists HTTP/9.9\r\n\r\n',
    `GET /v1/lists HTTP/1.1\r\nHost: ${host}\r\nBad Header: x\r\n\r\n`,
    `GET /v1/lists HTTP/1.1\r\nHost: ${host}\r\nX: a\0b\r\n\r\n`,
    `POST /v1/lists HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `POST /v1/lists HTTP/1.1\r\nHost: ${host}\r\nContent-Length: -1\r\n\r\n`,
    `POST /v1/lists HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx`,
    `G\u00cbT /v1/lists HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03, 0x0d, 0x0a, 0x0d, 0x0a]),
  ]
  for (const bytes of wrong) {
    const answer = await sendRaw(app.url, bytes)
    assert.equal(answer.status, 400, String(bytes))
    assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
    assert.equal(answer.headers.connection, 'close')
    const body = JSON.parse(answer.body)
    assert.deepEqual(Object.keys(body), ['error'])
    assert.deepEqual(Object.keys(body.error), ['code', 'message'])
  }
})

test('headers that are too large are refused in the same form', async () => {
  for (const header of [
    `X-Large: ${'x'.repeat(20_000)}`,
    `Authorization: Bearer sk_${'a'.repeat(20_000)}`,
    'X-Many: 1\r\n'.repeat(3_000),
  ]) {
    const answer = await sendRaw(app.url, `GET /v1/lists HTTP/1.1\r\nHost: ${host}\r\n${header}\r\n\r\n`)
    assert.ok([400, 401, 431].includes(answer.status), String(answer.status))
    assert.deepEqual(Object.keys(JSON.parse(answer.body).error), ['code', 'message'])
  }
})

test('a path with broken percent-encoding is refused in the contract’s form, with a request id', async () => {
  for (const path of ['/v1/lists/%zz', '/v1/lists/%', '/v1/lists/%ff%fe', '/confirm/%zz']) {
    const answer = await sendRaw(app.url, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    assert.ok([401, 404, 422].includes(answer.status), `${path}: ${answer.status}`)
    assert.match(answer.headers['x-request-id'] ?? '', /^req_/)
    assert.deepEqual(Object.keys(JSON.parse(answer.body).error), ['code', 'message'])
  }
})

test('HEAD is answered as GET is, without the body', async () => {
  const project = await app.newProject()
  const { status, body, headers } = await project.request('HEAD', '/lists')
  assert.equal(status, 200)
  assert.equal(body, null)
  assert.equal(headers.get('x-ratelimit-limit'), '1000000')
})

test('one connection can ask many times, also ahead of the answers', async () => {
  const project = await app.newProject()
  const request = `GET /api/me HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${project.key}\r\n`
  const answer = await sendRaw(app.url, `${request}\r\n${request}\r\n${request}Connection: close\r\n\r\n`)
  assert.equal(answer.status, 200)
})

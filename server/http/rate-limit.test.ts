import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { createTestClock, startApp } from '../../tests/support/posthaste.ts'
import { type Answer, speaking } from '../../tests/support/project.ts'
import { sendRaw } from '../../tests/support/raw-http.ts'
import { until } from '../../tests/support/until.ts'
import { addressSubject } from '../base/peer-address.ts'

const clock = createTestClock()
const windowMs = 60_000
/** Two nodes on one database, with the contract's limit. */
const app = await startApp({ RATE_LIMIT_PER_MINUTE: '' }, { clock })
const second = await startApp({ RATE_LIMIT_PER_MINUTE: '' }, { clock, connection: app.connection })

/** Each test begins a window of its own, with a second to spare at its start. */
beforeEach(() => clock.advance(windowMs - (clock.now().getTime() % windowMs) + 1_000))
test.after(() => second.stop())

const rateOf = ({ headers }: Pick<Answer, 'headers'>) =>
  ['limit', 'remaining', 'reset'].map((name) => Number(headers.get(`x-ratelimit-${name}`) ?? Number.NaN))

test('the sixtieth request of a minute passes, the next is told how long to wait', async () => {
  const project = await app.newProject()
  const end = Math.ceil(clock.now().getTime() / windowMs) * (windowMs / 1000)
  for (let used = 1; used <= 60; used++) {
    const answer = await project.get('/api/me')
    assert.equal(answer.status, 200)
    assert.deepEqual(rateOf(answer), [60, 60 - used, end])
  }
  const refused = await project.get('/api/me')
  assert.equal(refused.status, 429)
  assert.deepEqual(Object.keys(refused.body), ['error'])
  assert.equal(refused.body.error.code, 'rate_limited')
  assert.deepEqual(rateOf(refused), [60, 0, end])
  const wait = Number(refused.headers.get('retry-after'))
  assert.ok(Number.isInteger(wait) && wait > 0 && wait <= 60)
  assert.ok(Math.abs(end - wait - clock.now().getTime() / 1000) < 2, 'Retry-After ends where the window does')
  assert.deepEqual(await project.events(), [])
})

test('nothing is done for a refused request, and after the window all is well', async () => {
  const project = await app.newProject()
  for (let used = 0; used < 60; used++) await project.get('/api/me')
  for (let tries = 0; tries < 3; tries++) assert.equal((await project.post('/lists', { name: 'No' })).status, 429)
  clock.advance(windowMs)
  const { status, headers } = await project.post('/lists', { name: 'Yes' })
  assert.equal(status, 201)
  assert.equal(headers.get('x-ratelimit-remaining'), '59')
  assert.equal((await project.get('/lists')).body.length, 1)
})

test('each key has a count of its own, whatever it asks for and however it is answered', async () => {
  const project = await app.newProject()
  const other = await project.withKey(['read'])
  for (const path of ['/lists', '/lists/lst_x', '/nothing', '/lists?cursor=x', '/api/tokens']) await other.get(path)
  await other.request('PUT', '/lists')
  await other.request('POST', '/lists', { body: '{', headers: { 'content-type': 'application/json' } })
  assert.equal((await other.get('/lists')).headers.get('x-ratelimit-remaining'), '52')
  assert.equal((await project.get('/lists')).headers.get('x-ratelimit-remaining'), '59')
})

test('without a valid key the address counts, and does not use up the keys of others behind it', async () => {
  const nobody = speaking(app.url, null)
  const wrong = speaking(app.url, 'sk_wrong')
  for (let used = 1; used <= 60; used++) {
    const answer = await (used % 2 ? nobody : wrong).get('/lists')
    assert.equal(answer.status, 401)
    assert.equal(answer.headers.get('x-ratelimit-remaining'), String(60 - used))
  }
  assert.equal((await nobody.get('/lists')).status, 429)
  assert.equal((await wrong.get('/lists')).status, 429)
  const project = await app.newProject()
  assert.equal((await project.get('/lists')).status, 200)
})

test('a proxy beside us says whom it speaks for', async () => {
  const from = (address: string) => speaking(app.url, null).request('GET', '/lists', { headers: { 'x-forwarded-for': address } })
  for (let used = 0; used < 3; used++) await from('203.0.113.7')
  assert.equal((await from('203.0.113.7')).headers.get('x-ratelimit-remaining'), '56')
  assert.equal((await from('203.0.113.8')).headers.get('x-ratelimit-remaining'), '59')
  await from('2001:db8:1:2::1')
  assert.equal((await from('2001:db8:1:2:ffff::9')).headers.get('x-ratelimit-remaining'), '58')
  assert.equal((await from('2001:db8:1:3::1')).headers.get('x-ratelimit-remaining'), '59')
})

test('an IPv6 line is its /64, however it is written', () => {
  assert.equal(addressSubject('192.0.2.1'), 'ip:192.0.2.1')
  assert.equal(addressSubject('::ffff:192.0.2.1'), addressSubject('192.0.2.1'))
  for (const ip of ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::', '2001:0db8:0001:0002::1', '2001:DB8:1:2::1'])
    assert.equal(addressSubject(ip), addressSubject('2001:db8:1:2::1'), ip)
  // Three groups and a gap: the fourth is 0, not the one after the gap.
  assert.equal(addressSubject('2001:db8:1::5:6:7:8'), addressSubject('2001:db8:1:0:5:6:7:8'))
  assert.equal(addressSubject('2001:db8::1'), addressSubject('2001:db8:0:0:ffff::1'))
  assert.notEqual(addressSubject('2001:db8::1'), addressSubject('2001:db8:0:1::1'))
})

test('two nodes share the count within a second', async () => {
  const project = await app.newProject()
  const nodes = [speaking(app.url, project.key), speaking(second.url, project.key)]
  await Promise.all(Array.from({ length: 58 }, (_, index) => nodes[index % 2]?.get('/api/me')))
  // Every look costs one, so that the 60 are gone soon; each node must find out without having served them itself.
  for (const node of nodes)
    await until('the node refuses', async () => (await node.get('/api/me')).status === 429, { withinMs: 1_000, everyMs: 100 })
  const row = await until(
    'the count is settled',
    () => app.services.database.first<{ used: number }>`select max(used)::bigint as used from rate_windows where used between 58 and 75`,
  )
  assert.ok(row.used >= 60, 'and few came through while they did not know')
})

test('every answer of the API has the headers, malformed requests and unknown paths included', async () => {
  const project = await app.newProject()
  const host = new URL(app.url).host
  for (const path of [
    '/v1/lists',
    '/v1/openapi.json',
    '/v1/nothing',
    '/nothing',
    '/v1/lists/%zz',
    '/api/tokens',
    `/v1/lists/${'x'.repeat(3_000)}`,
  ]) {
    const { headers } = await sendRaw(app.url, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${project.key}\r\n\r\n`)
    for (const name of ['limit', 'remaining', 'reset']) assert.match(headers[`x-ratelimit-${name}`] ?? '', /^\d+$/, path)
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { createLog } from '../../base/log.ts'
import type { Database } from '../../database/database.ts'
import { createAuthenticate } from './authenticate.ts'
import { makeKey } from './token.ts'

const app = await startApp()

test('anything that is not a key of ours is answered 401 that says where to read more', async () => {
  const project = await app.newProject()
  const nobody = speaking(app.url, null)
  const { key } = project
  const wrong = [
    key.replace('sk_', 'pk_'),
    key.slice(0, -1),
    `${key}x`,
    key.toUpperCase(),
    makeKey(false),
    'sk_',
    `sk_${'a'.repeat(600)}`,
    "sk_' or '1'='1",
    '0',
  ]
  const headers = [
    ...wrong.map((text) => `Bearer ${text}`),
    key,
    `Basic ${key}`,
    `Bearer${key}`,
    `Bearer ${key} ${key}`,
    'Bearer',
    'Bearer ',
  ]
  for (const authorization of headers) {
    const { status, headers, body } = await nobody.request('GET', '/lists', { headers: { authorization } })
    assert.equal(status, 401, authorization)
    assert.equal(body.error.code, 'unauthorized')
    const challenge = headers.get('www-authenticate') ?? ''
    assert.match(challenge, /^Bearer resource_metadata=".*\/\.well-known\/oauth-protected-resource"/)
    assert.ok(!JSON.stringify(body).includes(key))
  }
  for (const authorization of [`bearer ${key}`, `BEARER   ${key}`])
    assert.equal((await nobody.request('GET', '/lists', { headers: { authorization } })).status, 200)
})

test('last_used_at is noted in the background, and again after a minute', async () => {
  const project = await app.newProject()
  const { body: token } = await project.post('/api/tokens', { name: 'Used', scope: 'read' })
  const through = speaking(app.url, token.key)
  const lastUsed = async (): Promise<string | null> =>
    (await project.get('/api/tokens')).body.find((shown: { id: string }) => shown.id === token.id).last_used_at
  assert.equal(await lastUsed(), null)
  const before = app.clock.now()
  await through.get('/lists')
  const first = await until('it is noted', lastUsed)
  assert.ok(new Date(first) >= before && new Date(first) <= app.clock.now())
  app.clock.advance(61_000)
  await through.get('/lists')
  await until('it is noted again', async () => ((await lastUsed()) ?? '') > first)
})

test('a refused request counts as a use too, for it shows that the key is about', async () => {
  const project = await app.newProject()
  const { body: token } = await project.post('/api/tokens', { name: 'Refused', scope: 'read' })
  assert.equal((await speaking(app.url, token.key).post('/lists', { name: 'x' })).status, 403)
  await until('it is noted', async () =>
    (await project.get('/api/tokens')).body.some(
      (shown: { id: string; last_used_at: string }) => shown.id === token.id && shown.last_used_at,
    ),
  )
})

test('a busy key is looked up once in half a second, and a failed look-up is not remembered', async () => {
  const project = await app.newProject()
  let looks = 0
  let isBroken = false
  const database: Database = {
    ...app.services.database,
    first: (...template) => {
      looks++
      return isBroken ? Promise.reject(new Error('gone')) : app.services.database.first(...template)
    },
  }
  const authenticate = createAuthenticate({ database, clock: app.clock, log: createLog('silent') })
  const callers = await Promise.all(Array.from({ length: 100 }, () => authenticate(project.key)))
  assert.equal(looks, 1)
  assert.ok(callers.every((caller) => caller?.project_id === project.id))

  isBroken = true
  const other = makeKey(false)
  await assert.rejects(authenticate(other), /gone/)
  isBroken = false
  assert.equal(await authenticate(other), null)
  assert.equal(looks, 3)
  assert.equal(await authenticate('not a key'), null)
  assert.equal(looks, 3, 'what cannot be a key costs no look-up')
})

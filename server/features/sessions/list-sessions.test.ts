import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'

const app = await startApp()

test('the browsers of the key’s owner are answered, last used first, without their secrets', async () => {
  const [project, other] = [await app.newProject(), await app.newProject()]
  assert.deepEqual((await project.get('/api/sessions')).body, [])
  const [first, second] = [await project.newSession(), await project.newSession()]
  await other.newSession()
  const { status, body } = await project.get('/api/sessions')
  assert.equal(status, 200)
  assert.deepEqual(
    body.map((session: { id: string }) => session.id),
    [second, first],
  )
  const { id, created_at, last_seen_at, expires_at, ...rest } = body[0]
  assert.match(id, /^ses_[0-9a-z]{26}$/)
  assert.deepEqual(rest, { user_agent: 'test', ip: '192.0.2.1' })
  assert.equal(created_at, last_seen_at)
  assert.equal(Date.parse(expires_at) - Date.parse(created_at), 30 * 24 * 3_600_000)
  assert.deepEqual(await project.events(), [])
})

test('those that are over are not among them', async () => {
  const project = await app.newProject()
  await project.newSession()
  app.clock.advance(31 * 24 * 3_600_000)
  assert.deepEqual((await project.get('/api/sessions')).body, [])
})

test('the scope admin is needed', async () => {
  const project = await app.newProject(['read', 'write', 'send'])
  const { status, body } = await project.get('/api/sessions')
  assert.deepEqual([status, body.error.code], [403, 'forbidden'])
  assert.deepEqual(await project.events(), [])
})

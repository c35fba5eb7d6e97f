import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { addressHash } from './suppression.ts'

const app = await startApp()

test('an address is suppressed; its subscribers stay as they are, and it joins no further list', async () => {
  const project = await app.newProject()
  const [{ body: list }, { body: other }] = [await project.post('/lists', { name: 'News' }), await project.post('/lists', { name: 'Tips' })]
  const { body: subscriber } = await project.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.com', verified: true })
  await project.events()
  const { status, body } = await project.post('/suppressions', { email: 'Ann@Example.com', detail: 'Asked by phone' })
  assert.equal(status, 201)
  assert.match(body.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual({ ...body, created_at: 0 }, { email: 'Ann@example.com', reason: 'manual', detail: 'Asked by phone', created_at: 0 })
  assert.deepEqual((await project.get('/suppressions')).body, [body])
  assert.equal((await project.get(`/lists/${list.id}/subscribers/${subscriber.id}`)).body.status, 'active')
  const refused = await project.post(`/lists/${other.id}/subscribers`, { email: 'ann@example.com', verified: true })
  assert.equal(refused.status, 422)
  assert.match(refused.body.error.message, /^email: is suppressed/)
  assert.deepEqual(await project.events(), [])
})

test('one that is there is answered as it is', async () => {
  const project = await app.newProject()
  const { body: first } = await project.post('/suppressions', { email: 'ann@example.com' })
  assert.equal(first.detail, null)
  app.clock.advance(1_000)
  const again = await project.post('/suppressions', { email: 'ANN@example.com', reason: 'manual', detail: 'later' })
  assert.equal(again.status, 201)
  assert.deepEqual(again.body, first)
  await app.services.database.run`
    insert into suppressions (project_id, address_hash, reason) values (${project.id}, ${addressHash(project.id, 'bo@example.com')}, 'erased')`
  const erased = await project.post('/suppressions', { email: 'bo@example.com' })
  assert.deepEqual([erased.status, erased.body.email, erased.body.reason], [201, null, 'erased'])
  assert.equal((await project.get('/suppressions')).body.length, 2)
  assert.deepEqual(await project.events(), [])
})

test('ten at once are one; another project is not concerned', async () => {
  const [project, other] = [await app.newProject(), await app.newProject()]
  const answers = await Promise.all(Array.from({ length: 10 }, () => project.post('/suppressions', { email: 'ann@example.com' })))
  assert.deepEqual(
    answers.map((answer) => answer.status),
    Array(10).fill(201),
  )
  assert.equal(new Set(answers.map((answer) => JSON.stringify(answer.body))).size, 1)
  assert.deepEqual((await other.get('/suppressions')).body, [])
  const { body: list } = await other.post('/lists', { name: 'News' })
  assert.equal((await other.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.com', verified: true })).status, 201)
})

test('what is wrong is named, and nothing is made', async () => {
  const project = await app.newProject()
  const cases: [unknown, RegExp][] = [
    [undefined, /^email: is required/],
    [{}, /^email: is required/],
    [{ email: 5 }, /^email: must be a string/],
    [{ email: 'ann' }, /^email: has no @/],
    [{ email: 'ann@example.com', reason: 'complaint' }, /^reason: must be manual/],
    [{ email: 'ann@example.com', reason: null }, /^reason: must be manual/],
    [{ email: 'ann@example.com', detail: 1 }, /^detail: must be a string/],
    [{ email: 'ann@example.com', detail: 'x'.repeat(1_001) }, /^detail: must have at most 1000 characters/],
  ]
  for (const [body, message] of cases) {
    const answer = await project.post('/suppressions', body)
    assert.equal(answer.status, 422, JSON.stringify(body))
    assert.equal(answer.body.error.code, 'validation_error')
    assert.match(answer.body.error.message, message)
  }
  assert.deepEqual((await project.get('/suppressions')).body, [])
  assert.deepEqual(await project.events(), [])
})

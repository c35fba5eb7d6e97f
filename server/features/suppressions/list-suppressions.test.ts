import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { formatCursor } from '../../operations/page.ts'
import { addressHash } from './suppression.ts'

const app = await startApp()

const insert = (project: TestProject, email: string, { reason = 'hard_bounce', at = app.clock.now() } = {}) => app.services.database.run`
  insert into suppressions (project_id, address_hash, email, reason, created_at)
  values (${project.id}, ${addressHash(project.id, email)}, ${reason === 'erased' ? null : email}, ${reason}, ${at})`

test('newest first, by reason, and by the whole address, even of somebody erased', async () => {
  const project = await app.newProject()
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))
  await insert(project, 'old@example.com', { at: at(1) })
  await insert(project, 'erased@example.com', { reason: 'erased', at: at(2) })
  await insert(project, 'new@example.com', { reason: 'complaint', at: at(3) })
  const row = (email: string | null, reason: string, second: number) => ({
    email,
    reason,
    detail: null,
    created_at: at(second).toISOString(),
  })
  const [old, erased, recent] = [row('old@example.com', 'hard_bounce', 1), row(null, 'erased', 2), row('new@example.com', 'complaint', 3)]

  const { status, body } = await project.get('/suppressions')
  assert.equal(status, 200)
  assert.deepEqual(body, [recent, erased, old])
  assert.deepEqual((await project.get('/suppressions?reason=hard_bounce')).body, [old])
  assert.deepEqual((await project.get('/suppressions?search=NEW%40example.com')).body, [recent])
  assert.deepEqual((await project.get('/suppressions?search=erased%40example.com')).body, [erased])
  assert.deepEqual((await project.get('/suppressions?search=new%40example.com&reason=manual')).body, [])
  assert.deepEqual((await project.get('/suppressions?search=nobody%40example.com')).body, [])
  assert.deepEqual((await (await app.newProject()).get('/suppressions')).body, [])
  assert.deepEqual(await project.events(), [])
})

test('pages show everything once, also what came at the same moment or between two milliseconds', async () => {
  const project = await app.newProject()
  const moment = app.clock.now()
  for (let number = 0; number < 5; number++) await insert(project, `same${number}@example.com`, { at: moment })
  await app.services.database.run`
    insert into suppressions (project_id, address_hash, email, reason, created_at)
    select ${project.id}, sha256(n::text::bytea), n || '@example.com', 'manual', ${moment}::timestamptz - n * interval '0.3 ms' from generate_series(1, 6) n`
  const seen: string[] = []
  let path: string | undefined = '/suppressions?limit=2'
  while (path) {
    const { status, body, headers } = await project.get(path)
    assert.equal(status, 200)
    seen.push(...body.map((row: { email: string }) => row.email))
    const next = /^<(.*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
    path = next && `${new URL(next).pathname}${new URL(next).search}`
    assert.ok(seen.length <= 11, 'a page repeats')
  }
  assert.equal(seen.length, 11)
  assert.equal(new Set(seen).size, 11)
})

test('what is wrong is named', async () => {
  const project = await app.newProject()
  const hash = 'ab'.repeat(32)
  const cases: [string, RegExp][] = [
    ['reason=spite', /^reason: must be one of hard_bounce, soft_bounces, complaint, manual, erased/],
    ['search=ann', /^search: has no @/],
    ['limit=0', /^limit: must be at least 1/],
    ['limit=201', /^limit: must be at most 200/],
    ['cursor=made-up', /^cursor: is not a cursor of this collection/],
    [`cursor=${formatCursor(['yesterday', hash])}`, /^cursor: is not a cursor of this collection/],
    [`cursor=${formatCursor(['2026-01-01T00:00:00.000Z', 'xyz'])}`, /^cursor: is not a cursor of this collection/],
  ]
  for (const [query, message] of cases) {
    const { status, body } = await project.get(`/suppressions?${query}`)
    assert.equal(status, 422, query)
    assert.equal(body.error.code, 'validation_error')
    assert.match(body.error.message, message)
  }
  assert.equal((await project.get(`/suppressions?cursor=${formatCursor(['0000-01-01T00:00:00.000Z', hash])}`)).status, 200)
})

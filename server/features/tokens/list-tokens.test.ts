import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { formatId, newId } from '../../base/ids.ts'

const app = await startApp()

test('the project’s keys are answered newest first, with everything but the key', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Box' })
  const expires_at = new Date(app.clock.now().getTime() + 86_400_000).toISOString()
  const { body: a } = await project.post('/api/tokens', { name: 'A', scope: 'read', expires_at })
  const { body: b } = await project.post('/api/tokens', { name: 'B', scope: 'read,write', mailbox_id: list.mailbox_id })
  await project.events()

  const { status, headers, body } = await project.get('/api/tokens')
  assert.equal(status, 200)
  assert.equal(headers.get('link'), null)
  assert.equal(body.length, 3)
  const { key: keyA, ...shownA } = a
  const { key: keyB, ...shownB } = b
  assert.deepEqual(body.slice(0, 2), [shownB, shownA])
  assert.ok(![keyA, keyB, project.key].some((key) => JSON.stringify(body).includes(key)))
  assert.deepEqual(Object.keys(body[0]), ['id', 'name', 'scopes', 'prefix', 'mailbox_id', 'created_at', 'last_used_at', 'expires_at'])
  assert.deepEqual(await project.events(), [])
})

test('another project’s keys are not among them', async () => {
  const [ours, theirs] = [await app.newProject(), await app.newProject()]
  await theirs.post('/api/tokens', { name: 'Theirs', scope: 'read' })
  const { body } = await ours.get('/api/tokens')
  assert.equal(body.length, 1)
})

test('past a thousand keys a Link header at AUTH_URL goes on', async () => {
  const project = await app.newProject()
  await app.services.database.run`
    insert into api_keys (project_id, id, user_id, name, prefix, hash, scopes)
    select project_id, gen_random_uuid(), user_id, 'Key ' || number, 'sk_xxxx', sha256(gen_random_uuid()::text::bytea), scopes
    from api_keys, generate_series(1, 1000) as number where project_id = ${project.id}`
  const first = await project.get('/api/tokens')
  assert.equal(first.body.length, 1000)
  const next = /^<(.*)>; rel="next"$/.exec(first.headers.get('link') ?? '')?.[1] ?? assert.fail('no next page')
  assert.ok(next.startsWith(`${app.config.AUTH_URL}/api/tokens?cursor=`), next)
  const second = await project.get(next.slice(app.url.length))
  assert.equal(second.body.length, 1)
  assert.equal(second.headers.get('link'), null)
  assert.equal(new Set([...first.body, ...second.body].map((token: { id: string }) => token.id)).size, 1001)
})

test('the scope admin is needed, and a cursor must be one', async () => {
  const project = await app.newProject()
  const reader = await project.withKey(['read', 'write', 'send'])
  const { status, body } = await reader.get('/api/tokens')
  assert.equal(status, 403)
  assert.equal(body.error.code, 'forbidden')
  const bad = await project.get(`/api/tokens?cursor=${formatId('key', newId())}`)
  assert.equal(bad.status, 422)
  assert.match(bad.body.error.message, /^cursor: /)
  assert.deepEqual(await project.events(), [])
})

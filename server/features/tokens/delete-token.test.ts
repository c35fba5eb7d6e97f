import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { formatId, newId } from '../../base/ids.ts'

const app = await startApp()

test('a revoked key stops within a second on every node, though both had just used it', async (t) => {
  const second = await startApp({}, { connection: app.connection })
  t.after(() => second.stop())
  const project = await app.newProject()
  const { body } = await project.post('/api/tokens', { name: 'Doomed', scope: 'read' })
  const nodes = [speaking(app.url, body.key), speaking(second.url, body.key)]
  for (const node of nodes) assert.equal((await node.get('/lists')).status, 200)

  const answer = await project.delete(`/api/tokens/${body.id}`)
  assert.equal(answer.status, 204)
  assert.equal(answer.body, null)
  // In use all the while: an answer that is remembered must not be remembered longer for it.
  for (const node of nodes) {
    const refused = await until(
      'the key is refused',
      async () => {
        const look = await node.get('/lists')
        return look.status !== 200 && look
      },
      { withinMs: 1_000 },
    )
    assert.equal(refused.status, 401)
    assert.match(refused.headers.get('www-authenticate') ?? '', /^Bearer .*error="invalid_token"/)
  }
  assert.ok((await project.get('/api/tokens')).body.every((token: { id: string }) => token.id !== body.id))
  assert.deepEqual(await project.events(), [])
})

test('a key may revoke itself', async () => {
  const project = await app.newProject()
  const { body } = await project.post('/api/tokens', { name: 'Own', scope: 'admin' })
  const own = speaking(app.url, body.key)
  assert.equal((await own.delete(`/api/tokens/${body.id}`)).status, 204)
  await until('it is refused', async () => (await own.get('/api/me')).status === 401, { withinMs: 1_000 })
})

test('another project’s key, one that never existed and one that is gone are not found alike', async () => {
  const [ours, theirs] = [await app.newProject(), await app.newProject()]
  const { body: foreign } = await theirs.post('/api/tokens', { name: 'Theirs', scope: 'read' })
  const { body: gone } = await ours.post('/api/tokens', { name: 'Gone', scope: 'read' })
  await ours.delete(`/api/tokens/${gone.id}`)
  const answers = []
  for (const id of [formatId('key', newId()), foreign.id, gone.id]) answers.push(await ours.delete(`/api/tokens/${id}`))
  for (const { status, body } of answers) {
    assert.equal(status, 404)
    assert.equal(body.error.code, 'not_found')
    assert.deepEqual(body, answers[0]?.body)
  }
  assert.equal((await speaking(app.url, foreign.key).get('/lists')).status, 200)
  assert.deepEqual([...(await ours.events()), ...(await theirs.events())], [])
})

test('the scope admin is needed', async () => {
  const project = await app.newProject()
  const { body } = await project.post('/api/tokens', { name: 'Safe', scope: 'read' })
  const writer = await project.withKey(['read', 'write', 'send'])
  const { status } = await writer.delete(`/api/tokens/${body.id}`)
  assert.equal(status, 403)
  assert.equal((await speaking(app.url, body.key).get('/lists')).status, 200)
  assert.deepEqual(await project.events(), [])
})

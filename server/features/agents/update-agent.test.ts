import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claimAs, registerAnonymous } from '../../../tests/support/agents.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { formatId, newId } from '../../base/ids.ts'

const app = await startApp()

/** A human, and an agent that is linked to them. */
async function linked() {
  const project = await app.newProject()
  const { body: me } = await project.get('/api/me')
  const agent = await registerAnonymous(app)
  const data = await claimAs(app, agent.claim_token, me.user.email, true)
  await project.events()
  return { project, agent, keys: [agent.credential, data.credential] as [string, string], path: `/api/agents/${agent.user_id}` }
}

test('switched off, an agent’s keys stop within a second on every node, though all had just used them; switched on, they work again', async (t) => {
  const second = await startApp({}, { connection: app.connection })
  t.after(() => second.stop())
  const { project, agent, keys, path } = await linked()
  const nodes = [app.url, second.url].flatMap((url) => keys.map((key) => speaking(url, key)))
  for (const node of nodes) assert.equal((await node.get('/lists')).status, 200)

  const { status, body } = await project.patch(path, { status: 'disabled' })
  assert.deepEqual([status, body.id, body.status], [200, agent.user_id, 'disabled'])
  for (const node of nodes) await until('the key is refused', async () => (await node.get('/lists')).status === 401, { withinMs: 1_000 })
  assert.equal((await project.get('/api/agents')).body[0].status, 'disabled')
  assert.equal((await project.patch(path, { status: 'disabled' })).body.status, 'disabled', 'twice is once')

  assert.equal((await project.patch(path, { status: 'active' })).body.status, 'active')
  for (const node of nodes) await until('the key works again', async () => (await node.get('/lists')).status === 200, { withinMs: 1_000 })
  assert.deepEqual(await project.events(), [])
})

test('an agent can be let send, and be kept from it', async () => {
  const { project, keys, path } = await linked()
  for (const [send, scopes] of [
    [true, ['read', 'write', 'send']],
    [true, ['read', 'write', 'send']],
    [false, ['read', 'write']],
  ] as const) {
    const { status, body } = await project.patch(path, { send })
    assert.deepEqual([status, body.scopes], [200, scopes])
    for (const key of keys)
      await until(
        'the key has its scopes',
        async () => (await speaking(app.url, key).get('/api/me')).body.scopes.join() === scopes.join(),
        {
          withinMs: 1_000,
        },
      )
  }
  assert.deepEqual(await project.events(), [])
})

test('it leaves an audit row, and nothing asked is nothing done', async () => {
  const { project, agent, path } = await linked()
  const { status, body } = await project.patch(path, {})
  assert.deepEqual([status, body.status, body.scopes], [200, 'active', ['read', 'write']])
  await project.patch(path, { status: 'disabled', send: true })
  const rows = await app.services.database.many<{ target: object }>`
    select target from audit_log where project_id = ${project.id} and operation = 'agents.update'`
  assert.deepEqual(rows.at(-1)?.target, { id: agent.user_id })
})

test('somebody else’s agent, a human, and one that never was are not found alike, and nothing changes', async () => {
  const [{ project }, other] = [await linked(), await linked()]
  const human = (await project.get('/api/me')).body.user.id
  const answers = []
  for (const id of [other.agent.user_id, human, formatId('usr', newId())])
    answers.push(await project.patch(`/api/agents/${id}`, { status: 'disabled', send: true }))
  for (const { status, body } of answers) {
    assert.equal(status, 404)
    assert.deepEqual(body, answers[0]?.body)
  }
  const { body: me } = await speaking(app.url, other.keys[0]).get('/api/me')
  assert.deepEqual(me.scopes, ['read', 'write'])
  assert.deepEqual([...(await project.events()), ...(await other.project.events())], [])
})

test('a viewer cannot, nor an agent for itself, and wrong values are refused', async () => {
  const { project, keys, path } = await linked()
  const viewer = await project.addMember('viewer')
  assert.equal((await viewer.patch(path, { status: 'disabled' })).status, 403)
  assert.equal((await viewer.get('/api/agents')).status, 403)
  assert.equal((await speaking(app.url, keys[1]).patch(path, { send: true })).status, 403)
  const admin = await project.addMember('admin')
  assert.equal((await admin.patch(path, { status: 'disabled' })).status, 404, 'another human’s agent, in whatever project')
  for (const body of [{ status: 'gone' }, { send: 'yes' }]) assert.equal((await project.patch(path, body)).status, 422)
  assert.equal((await project.get('/api/agents')).body[0].status, 'active')
  assert.deepEqual(await project.events(), [])
})

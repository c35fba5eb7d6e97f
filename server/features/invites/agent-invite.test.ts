import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { formatId } from '../../base/ids.ts'
import { insertInvite } from './index.ts'

const app = await startApp()
const { database } = app.services

/** An agent with a project and a key of its own, and the invite by which it asks a human in. */
async function linkedAgent(human: TestProject): Promise<{ agent: TestProject; id: string }> {
  const agent = await app.newProject(['read', 'write'])
  await database.run`update users set kind = 'agent', parent_id = ${human.user_id} where id = ${agent.user_id}`
  const asked = { project_id: agent.id, email: human.email, email_key: human.email, role: 'admin', source: 'agent' } as const
  const invite = await database.transaction((tx) => insertInvite(tx, { ...asked, user_id: agent.user_id }))
  return { agent, id: formatId('inv', invite.id) }
}
const roleIn = async (project: TestProject, who: TestProject) =>
  (await database.first<{ role: string }>`select role from members where project_id = ${project.id} and user_id = ${who.user_id}`)?.role ??
  null
const scopesOf = async (agent: TestProject) => (await agent.get('/api/me')).body.scopes

test('the human accepts: they are an admin of the agent’s project, and it sends only when they said so', async () => {
  const human = await app.newProject()
  for (const send of [false, true]) {
    const { agent, id } = await linkedAgent(human)
    const { body: shown } = await human.get('/invites')
    assert.deepEqual([shown[0].id, shown[0].source, shown[0].project_id], [id, 'agent', formatId('prj', agent.id)])
    const { status, body } = await human.post(`/invites/${id}/approve`, { send })
    assert.deepEqual([status, body.status, body.source], [200, 'approved', 'agent'])
    assert.equal(await roleIn(agent, human), 'admin')
    const expected = send ? 'read,write,send' : 'read,write'
    await until('its key has these scopes', async () => (await scopesOf(agent)).join() === expected, { withinMs: 1_000 })
    assert.deepEqual(await agent.events(), [])
  }
})

test('the human declines: nobody joins, and the agent’s keys stay as they were', async () => {
  const human = await app.newProject()
  const { agent, id } = await linkedAgent(human)
  assert.equal((await human.post(`/invites/${id}/reject`)).body.status, 'rejected')
  assert.equal((await human.post(`/invites/${id}/approve`, { send: true })).status, 422)
  assert.equal(await roleIn(agent, human), null)
  assert.deepEqual(await scopesOf(agent), ['read', 'write'])
})

test('an agent cannot accept for its human, nor widen itself', async () => {
  const human = await app.newProject()
  const { agent, id } = await linkedAgent(human)
  assert.equal((await agent.post(`/invites/${id}/approve`, { send: true })).status, 403)
  const wide = await agent.withKey(['read', 'write', 'admin'])
  assert.equal((await wide.post(`/invites/${id}/approve`, { send: true })).status, 403)
  const widest = await agent.withKey(['read', 'write', 'send', 'admin'])
  assert.equal((await widest.post(`/invites/${id}/approve`, { send: true })).status, 422)
  assert.deepEqual(await scopesOf(agent), ['read', 'write'])
  assert.equal(await roleIn(agent, human), null)
})

test('saying again that it may send does not widen what was accepted without', async () => {
  const human = await app.newProject()
  const { agent, id } = await linkedAgent(human)
  await human.post(`/invites/${id}/approve`)
  assert.equal((await human.post(`/invites/${id}/approve`, { send: true })).status, 200)
  assert.deepEqual(await scopesOf(agent), ['read', 'write'])
})

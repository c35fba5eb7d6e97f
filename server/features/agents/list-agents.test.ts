import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claimAs, registerAnonymous } from '../../../tests/support/agents.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { speaking } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'

const app = await startApp()
const { database } = app.services

async function addressOf(project: TestProject): Promise<string> {
  const { body } = await project.get('/api/me')
  // One code a minute for one mailbox: the one before was a while ago.
  await database.run`update email_codes set created_at = created_at - interval '2 minutes' where email_key = ${body.user.email}`
  return body.user.email
}

test('a human sees the agents that are linked to them, newest first, and no others', async () => {
  const [project, stranger] = [await app.newProject(), await app.newProject()]
  assert.deepEqual((await project.get('/api/agents')).body, [])
  const agents = [await registerAnonymous(app), await registerAnonymous(app), await registerAnonymous(app)]
  for (const agent of agents.slice(0, 2)) await claimAs(app, agent.claim_token, await addressOf(project), true)
  await claimAs(app, agents[2].claim_token, await addressOf(project), false)
  await project.events()

  const { status, body } = await project.get('/api/agents')
  assert.equal(status, 200)
  assert.deepEqual(
    body.map((agent: { id: string }) => agent.id),
    [agents[1].user_id, agents[0].user_id],
    'one that was merged is no agent any more',
  )
  const { created_at, last_used_at, ...shown } = body[1]
  assert.deepEqual(shown, {
    id: agents[0].user_id,
    name: agents[0].mailbox.address.split('@')[0],
    email: agents[0].mailbox.address,
    project_id: agents[0].project_id,
    scopes: ['read', 'write'],
    status: 'active',
  })
  assert.match(created_at, /^\d{4}-.*Z$/)
  assert.equal(last_used_at, null)
  await speaking(app.url, agents[0].credential).get('/lists')
  await until('its use is noted', async () => (await project.get('/api/agents')).body[1].last_used_at !== null)
  assert.deepEqual((await stranger.get('/api/agents')).body, [])
  assert.deepEqual(await project.events(), [])
})

test('the agent itself sees nobody, and may not look', async () => {
  const project = await app.newProject()
  const agent = await registerAnonymous(app)
  const data = await claimAs(app, agent.claim_token, await addressOf(project), true)
  const { status, body } = await speaking(app.url, data.credential).get('/api/agents')
  assert.deepEqual([status, body.error.code], [403, 'forbidden'])
})

test('past a thousand agents a Link header goes on', async () => {
  const project = await app.newProject()
  await database.run`
    with made as (
      insert into users (id, kind, name, parent_id) select gen_random_uuid(), 'agent', 'agent ' || number, m.user_id
      from generate_series(1, 1001) as number, members m where m.project_id = ${project.id} returning id)
    insert into projects (id, name, slug, owner_id) select gen_random_uuid(), 'x', id::text, id from made`
  const first = await project.get('/api/agents')
  assert.equal(first.body.length, 1000)
  const next = /^<(.*)>; rel="next"$/.exec(first.headers.get('link') ?? '')?.[1] ?? assert.fail('no next page')
  const rest = await project.get(next.slice(app.url.length))
  assert.equal(rest.body.length, 1)
  assert.equal(rest.headers.get('link'), null)
})

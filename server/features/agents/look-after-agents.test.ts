import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asProject, assertNo, claimAs, dataOf, newAddress, nobody, registerAnonymous, stepsOf } from '../../../tests/support/agents.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { lookAfterAgents } from './look-after-agents.ts'

const dayMs = 86_400_000

test('claims that nobody completed are forgotten a week after they ended; the agents stay', async () => {
  const app = await startApp()
  const email = newAddress()
  const named = dataOf(
    await nobody(app).post('/agent/auth', { type: 'identity_assertion', assertions: [{ type: 'verified_email', email }] }),
    201,
  )
  const [unclaimed, claimed] = [await registerAnonymous(app), await registerAnonymous(app)]
  await claimAs(app, claimed.claim_token, newAddress())
  const known = async () =>
    (await app.services.database.many<{ kind: string }>`select kind from agent_registrations order by id`).map(({ kind }) => kind)
  app.clock.advance(7 * dayMs)
  await lookAfterAgents.run(app.services, {})
  assert.deepEqual(await known(), ['email', 'anonymous', 'anonymous'])
  app.clock.advance(2 * dayMs)
  await lookAfterAgents.run(app.services, {})
  assert.deepEqual(await known(), ['anonymous', 'anonymous'])
  assert.deepEqual((await stepsOf(app, named.registration_id)).at(-1), 'registration.expired')
  app.clock.advance(29 * dayMs)
  await lookAfterAgents.run(app.services, {})
  assert.deepEqual(await known(), ['anonymous'], 'what was claimed is remembered')
  assert.deepEqual(await stepsOf(app, unclaimed.registration_id), ['registration.created', 'registration.expired'])
  assertNo(await nobody(app).post('/agent/auth/claim', { claim_token: unclaimed.claim_token, email }), 401, 'invalid_claim_token')
  assert.equal((await speaking(app.url, unclaimed.credential).get('/lists')).status, 200)
})

test('mail that was on its way during a merge follows it', async () => {
  const app = await startApp()
  const { database } = app.services
  const agent = await registerAnonymous(app)
  await database.run`
    insert into messages (project_id, id, kind, recipient, recipient_key, mail, status, next_attempt_at)
    values (${asProject(agent.project_id)}, gen_random_uuid(), 'slow', 'x@example.org', 'x@example.org', '{}', 'sending', now() + interval '1 day')`
  const data = await claimAs(app, agent.claim_token, newAddress())
  const place = async () => (await database.first<{ project_id: string }>`select project_id from messages where kind = 'slow'`)?.project_id
  await lookAfterAgents.run(app.services, {})
  assert.equal(await place(), asProject(agent.project_id))
  await database.run`update messages set status = 'delivered' where kind = 'slow'`
  await lookAfterAgents.run(app.services, {})
  assert.equal(await place(), asProject(data.project_id))
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claimAs, registerWriter } from '../../../tests/support/agents.ts'
import { startApp } from '../../../tests/support/posthaste.ts'

const app = await startApp({ ROLES: 'http,sender' })

test('an address that an agent gave up before a human claimed it is kept for the human', async () => {
  const human = await app.newProject()
  const stranger = await app.newProject()
  const agent = await registerWriter(app)
  const address = 'keepsake@posthaste.test'
  const made = await agent.project.post('/mailboxes', { address })
  assert.equal(made.status, 201)
  assert.equal((await agent.project.delete(`/mailboxes/${made.body.id}`)).status, 204)
  assert.match((await human.post('/mailboxes', { address })).body.error.message, /^address: is taken/)
  await claimAs(app, agent.claim_token, human.email)
  assert.match((await stranger.post('/mailboxes', { address })).body.error.message, /^address: is taken/)
  assert.equal((await human.post('/mailboxes', { address })).status, 201)
})

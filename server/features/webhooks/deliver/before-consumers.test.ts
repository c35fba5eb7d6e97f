import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../../tests/support/posthaste.ts'
import { startWebhookPeer } from '../../../../tests/support/webhook-peer.ts'

test('what happens before the first process that delivers starts is delivered by it', async () => {
  const app = await startApp({ ROLES: 'http', ALLOW_PRIVATE_WEBHOOKS: 'true' })
  const peer = await startWebhookPeer()
  const project = await app.newProject()
  const made = await project.post('/webhooks', { url: `${peer.url}/early`, events: ['contact_group.created'] })
  assert.equal(made.status, 201)
  await project.post('/contact-groups', { name: 'Early' })
  await startApp({ ROLES: 'consumers', ALLOW_PRIVATE_WEBHOOKS: 'true' }, { connection: app.connection })
  const call = await peer.call('contact_group.created')
  assert.equal(call.body.data.name, 'Early')
})

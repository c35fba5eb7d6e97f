import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { asProject, asUser, claimAs, registerAnonymous } from '../../../tests/support/agents.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { startWebhookPeer } from '../../../tests/support/webhook-peer.ts'
import { insertToken, makeKey } from '../tokens/index.ts'

const app = await startApp({ ALLOW_PRIVATE_WEBHOOKS: 'true', WEBHOOK_BACKOFF_SECONDS: '600' })
const peer = await startWebhookPeer()
const { database } = app.services

test('a webhook comes along with its secret, what waits for it and its log', async () => {
  const project = await app.newProject()
  const agent = await registerAnonymous(app)
  const [project_id, user_id] = [asProject(agent.project_id), asUser(agent.user_id)]
  const key = makeKey(false)
  await database.transaction((tx) =>
    insertToken(tx, { project_id, user_id, name: 'more', key, scopes: ['read', 'write'], mailbox_id: null, expires_at: null }),
  )
  const writer = speaking(app.url, key)
  const { body: webhook } = await writer.post('/webhooks', { url: `${peer.url}/moved`, events: ['contact_group.created'] })
  const path = `/webhooks/${webhook.id}`
  const delivered = async (name: string) => {
    await writer.post('/contact-groups', { name })
    return peer.call('contact_group.created', ({ body }) => body.data.name === name)
  }
  const first = await delivered('Arrived')
  await until(
    'it is settled',
    async () => (await writer.get(`${path}/deliveries?event_type=contact_group.created&status=delivered`)).body[0],
  )
  peer.reply = (response) => response.writeHead(500).end()
  const waiting = await delivered('Waiting')
  await until('it is to be tried again', async () => (await writer.get(`${path}/deliveries?status=pending`)).body[0]?.attempt === 1)
  peer.reply = (response) => response.writeHead(204).end()

  await claimAs(app, agent.claim_token, project.email)
  const { status, body: moved } = await project.get(path)
  assert.deepEqual([status, moved.url, moved.secret], [200, webhook.url, `whsec_…${webhook.secret.slice(-4)}`])
  const { body: log } = await project.get(`${path}/deliveries/${first.headers['x-service-delivery-id']}`)
  assert.deepEqual([log.status, log.request.body], ['delivered', null], 'its event stayed where it happened')

  const calls = () => peer.received.filter(({ headers }) => headers['x-service-delivery-id'] === waiting.headers['x-service-delivery-id'])
  app.clock.advance(1_200_000)
  const [, again] = await until('the second attempt', () => calls().length === 2 && calls())
  assert.equal(again?.text, waiting.text)
  await project.post('/contact-groups', { name: 'Afterwards' })
  const last = await peer.call('contact_group.created', ({ body }) => body.data.name === 'Afterwards')
  const { 'webhook-id': id, 'webhook-timestamp': time } = last.headers as Record<string, string>
  const expected = new Webhook(webhook.secret).sign(id ?? '', new Date(Number(time) * 1000), last.text)
  assert.equal(last.headers['webhook-signature'], expected)
})

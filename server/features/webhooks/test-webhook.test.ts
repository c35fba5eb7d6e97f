import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { startApp } from '../../../tests/support/posthaste.ts'
import { until } from '../../../tests/support/until.ts'
import { startWebhookPeer } from '../../../tests/support/webhook-peer.ts'
import { formatId, newId } from '../../base/ids.ts'

const app = await startApp({ ALLOW_PRIVATE_WEBHOOKS: 'true' })
const peer = await startWebhookPeer()

async function newWebhook(url: string) {
  const project = await app.newProject()
  const { body: webhook } = await project.post('/webhooks', { url, events: ['post.sent'] })
  return { project, webhook, path: `/webhooks/${webhook.id}` }
}

test('a test is sent, signed and waited for', async () => {
  const { project, webhook, path } = await newWebhook(`${peer.url}/test`)
  const { status, body } = await project.post(`${path}/test`)
  assert.equal(status, 200)
  assert.match(body.delivery_id, /^whd_[0-9a-z]{26}$/)
  assert.deepEqual({ ...body, delivery_id: 0, duration_ms: 0 }, { delivery_id: 0, status: 'delivered', http_status: 204, duration_ms: 0 })
  assert.ok(Number.isInteger(body.duration_ms))
  const call = await peer.call('webhook.test', ({ headers }) => headers['x-service-delivery-id'] === body.delivery_id)
  new Webhook(webhook.secret).verify(call.text, call.headers as Record<string, string>)
  assert.deepEqual([call.body.type, call.body.data.webhook_id], ['webhook.test', webhook.id])
  const { body: delivery } = await project.get(`${path}/deliveries/${body.delivery_id}`)
  assert.equal(delivery.request.body, call.text)
  assert.equal((await project.get(path)).body.last_delivered_at, null)
  assert.deepEqual(await project.events(), [])
})

test('each answer that is no 2xx is a failure that counts for nothing, 410 too', async () => {
  for (const answered of [301, 400, 410, 500]) {
    const { project, path } = await newWebhook(`${peer.url}/status`)
    peer.reply = (response) => response.writeHead(answered, { location: `${peer.url}/elsewhere`, 'set-cookie': 'a=b' }).end('No, thanks')
    const { status, body } = await project.post(`${path}/test`)
    assert.deepEqual([status, body.status, body.http_status], [200, 'failed', answered])
    const { body: delivery } = await project.get(`${path}/deliveries/${body.delivery_id}`)
    assert.match(delivery.error, new RegExp(`^answered with ${answered}`))
    assert.deepEqual([delivery.attempt, delivery.status, delivery.next_attempt_at, delivery.delivered_at], [1, 'failed', null, null])
    assert.equal(delivery.response.body, 'No, thanks')
    assert.equal(delivery.response.headers['set-cookie'], undefined)
    const { body: webhook } = await project.get(path)
    assert.deepEqual([webhook.status, webhook.consecutive_failures, webhook.last_failed_at], ['active', 0, null])
    assert.deepEqual(await project.events(), [])
  }
  assert.ok(!peer.received.some(({ path }) => path === '/elsewhere'), 'redirects are not followed')
  peer.reply = (response) => response.writeHead(204).end()
})

test('an endpoint that nobody answers at is a failure with its reason', async () => {
  const { project, path } = await newWebhook('http://127.0.0.1:9/')
  const { status, body } = await project.post(`${path}/test`)
  assert.deepEqual([status, body.status, body.http_status], [200, 'failed', null])
  const { body: delivery } = await project.get(`${path}/deliveries/${body.delivery_id}`)
  assert.match(delivery.error, /refused the connection/)
  assert.equal(delivery.response, null)
})

test('a paused webhook can be tested', async () => {
  const { project, path } = await newWebhook(`${peer.url}/paused`)
  await project.patch(path, { status: 'paused' })
  const { body } = await project.post(`${path}/test`)
  assert.equal(body.status, 'delivered')
  assert.equal((await project.get(path)).body.status, 'paused')
})

test('a project waits for four tests at once; another has its own', async () => {
  const { project, path } = await newWebhook(`${peer.url}/slow`)
  const other = await newWebhook(`${peer.url}/other`)
  await until('the first test is over', async () => (await project.get(`${path}/deliveries?status=delivered`)).body.length === 1)
  const held: ServerResponse[] = []
  peer.reply = (response, call) => void (call.path === '/slow' ? held.push(response) : response.writeHead(204).end())
  const waiting = Array.from({ length: 4 }, () => project.post(`${path}/test`))
  await until('four are under way', () => held.length === 4)
  const { status, body } = await project.post(`${path}/test`)
  assert.deepEqual([status, body.error?.code], [429, 'rate_limited'])
  assert.match(body.error.message, /waits for tests of webhooks in 4 requests already/)
  assert.equal((await other.project.post(`${other.path}/test`)).body.status, 'delivered')
  peer.reply = (response) => response.writeHead(204).end()
  for (const response of held) response.writeHead(204).end()
  for (const { body } of await Promise.all(waiting)) assert.equal(body.status, 'delivered')
  assert.equal((await project.post(`${path}/test`)).body.status, 'delivered')
  assert.deepEqual(await project.events(), [])
})

test('a webhook that is not there cannot be tested', async () => {
  const project = await app.newProject()
  const { status, body } = await project.post(`/webhooks/${formatId('whk', newId())}/test`)
  assert.deepEqual([status, body.error.code], [404, 'not_found'])
  assert.deepEqual(await project.events(), [])
})

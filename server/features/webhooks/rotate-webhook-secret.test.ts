import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { createTestClock, startApp } from '../../../tests/support/posthaste.ts'
import { type ReceivedCall, startWebhookPeer } from '../../../tests/support/webhook-peer.ts'
import { formatId, newId } from '../../base/ids.ts'

const clock = createTestClock()
const app = await startApp({ ALLOW_PRIVATE_WEBHOOKS: 'true' }, { clock })
const peer = await startWebhookPeer()

const hex = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('hex')
/** Its time is the test's, which the judge does not know. */
const signaturesOf = (secret: string, { headers, text }: ReceivedCall) =>
  new Webhook(secret).sign(String(headers['webhook-id']), new Date(Number(headers['webhook-timestamp']) * 1000), text)

test('a new secret signs at once, and the one before for a day more', async () => {
  const project = await app.newProject()
  const { body: webhook } = await project.post('/webhooks', { url: `${peer.url}/rotated`, events: ['post.sent'] })
  const { status, body: rotated } = await project.post(`/webhooks/${webhook.id}/rotate-secret`)
  assert.equal(status, 200)
  assert.match(rotated.secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.notEqual(rotated.secret, webhook.secret)
  assert.deepEqual({ ...rotated, secret: 0 }, { ...webhook, secret: 0 })
  assert.equal((await project.get(`/webhooks/${webhook.id}`)).body.secret, `whsec_…${rotated.secret.slice(-4)}`)

  const testNow = async () => {
    const { body } = await project.post(`/webhooks/${webhook.id}/test`)
    return peer.call('webhook.test', ({ headers }) => headers['x-service-delivery-id'] === body.delivery_id)
  }
  const during = await testNow()
  assert.equal(during.headers['webhook-signature'], `${signaturesOf(rotated.secret, during)} ${signaturesOf(webhook.secret, during)}`)
  assert.equal(during.headers['x-service-signature'], hex(rotated.secret, during.text))
  clock.advance(24 * 3_600_000)
  const later = await testNow()
  assert.equal(later.headers['webhook-signature'], signaturesOf(rotated.secret, later))
  assert.deepEqual(await project.events(), [])
})

test('a second rotation ends the first secret, and another webhook keeps its own', async () => {
  const project = await app.newProject()
  const [one, other] = [
    (await project.post('/webhooks', { url: `${peer.url}/twice`, events: ['post.sent'] })).body,
    (await project.post('/webhooks', { url: `${peer.url}/kept`, events: ['post.sent'] })).body,
  ]
  const second = (await project.post(`/webhooks/${one.id}/rotate-secret`)).body.secret
  const third = (await project.post(`/webhooks/${one.id}/rotate-secret`)).body.secret
  const { body } = await project.post(`/webhooks/${one.id}/test`)
  const call = await peer.call('webhook.test', ({ headers }) => headers['x-service-delivery-id'] === body.delivery_id)
  assert.equal(call.headers['webhook-signature'], `${signaturesOf(third, call)} ${signaturesOf(second, call)}`)
  assert.equal((await project.get(`/webhooks/${other.id}`)).body.secret, `whsec_…${other.secret.slice(-4)}`)
})

test('a webhook that is not there has no secret to rotate', async () => {
  const project = await app.newProject()
  const { status, body } = await project.post(`/webhooks/${formatId('whk', newId())}/rotate-secret`)
  assert.deepEqual([status, body.error.code], [404, 'not_found'])
  assert.deepEqual(await project.events(), [])
})

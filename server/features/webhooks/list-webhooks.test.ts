import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { until } from '../../../tests/support/until.ts'
import { startWebhookPeer } from '../../../tests/support/webhook-peer.ts'

const app = await startApp({ ALLOW_PRIVATE_WEBHOOKS: 'true' })
const peer = await startWebhookPeer()
const { database } = app.services

test('all webhooks, newest first, without their secrets; one with its secret masked', async () => {
  const project = await app.newProject()
  assert.deepEqual((await project.get('/webhooks')).body, [])
  const first = (await project.post('/webhooks', { url: `${peer.url}/1`, events: ['post.sent'] })).body
  const second = (await project.post('/webhooks', { url: `${peer.url}/2`, events: ['list.created'] })).body
  const summaryOf = ({ secret: _secret, ...webhook }: Record<string, unknown>) => ({
    ...webhook,
    consecutive_failures: 0,
    last_delivered_at: null,
    last_failed_at: null,
  })
  const { status, body } = await project.get('/webhooks')
  assert.deepEqual([status, body], [200, [summaryOf(second), summaryOf(first)]])
  const detail = await project.get(`/webhooks/${first.id}`)
  const masked = { secret: `whsec_…${first.secret.slice(-4)}`, disabled_at: null, disabled_reason: null }
  assert.deepEqual([detail.status, detail.body], [200, { ...summaryOf(first), ...masked }])
  assert.ok(!JSON.stringify([body, detail.body]).includes(first.secret.slice(6, 30)))
  assert.deepEqual(await project.events(), [])
})

test('a deleted webhook is gone with its deliveries, and wants nothing', async () => {
  const project = await app.newProject()
  const { body: webhook } = await project.post('/webhooks', { url: `${peer.url}/deleted`, events: ['list.created'] })
  const { status, body } = await project.delete(`/webhooks/${webhook.id}`)
  assert.deepEqual([status, body], [204, null])
  assert.equal((await project.get(`/webhooks/${webhook.id}`)).status, 404)
  assert.equal((await project.delete(`/webhooks/${webhook.id}`)).status, 404)
  assert.deepEqual((await project.get('/webhooks')).body, [])
  assert.deepEqual(await database.many`select 1 from event_interests where project_id = ${project.id}`, [])
  for (const table of ['webhook_deliveries', 'webhook_queues'])
    await until(`${table} is empty`, async () => {
      const { rows } = await database.execute(`select 1 from ${table} where project_id = $1`, [project.id])
      return rows.length === 0
    })
  assert.deepEqual(await project.events(), [])
  await project.post('/lists', { name: 'Later' })
  const other = (await project.post('/webhooks', { url: `${peer.url}/after`, events: ['list.created'] })).body
  await project.post('/lists', { name: 'Later still' })
  await peer.call('list.created', ({ path }) => path === '/after')
  assert.ok(other.id)
  assert.ok(!peer.received.some(({ path, headers }) => path === '/deleted' && headers['x-service-event'] === 'list.created'))
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { startWebhookPeer } from '../../../tests/support/webhook-peer.ts'
import { parseId } from '../../base/ids.ts'
import { disableWebhook } from './deliver/disable-webhook.ts'

const app = await startApp({ ALLOW_PRIVATE_WEBHOOKS: 'true' })
const peer = await startWebhookPeer()
const { database } = app.services

async function newWebhook(events = ['post.sent', 'list.created']) {
  const project = await app.newProject()
  const { body: webhook } = await project.post('/webhooks', { url: `${peer.url}/first`, events })
  const path = `/webhooks/${webhook.id}`
  const interests = async () =>
    (await database.many<{ types: string[] }>`select types from event_interests where project_id = ${project.id}`).map(({ types }) => types)
  const failTimes = (times: number) =>
    database.run`update webhooks set consecutive_failures = ${times}, last_failed_at = now() where project_id = ${project.id}`
  return { project, webhook, path, interests, failTimes }
}

test('the address and the events change, and only they', async () => {
  const { project, webhook, path, interests } = await newWebhook()
  const { body: before } = await project.get(path)
  const url = `${peer.url}/second`
  const changed = await project.patch(path, { url })
  assert.deepEqual([changed.status, changed.body], [200, { ...before, url }])
  const other = await project.patch(path, { events: ['list.deleted', 'post.sent', 'list.deleted'] })
  assert.deepEqual([other.status, other.body], [200, { ...before, url, events: ['post.sent', 'list.deleted'] }])
  assert.deepEqual(await interests(), [['post.sent', 'list.deleted']])
  assert.deepEqual((await project.patch(path, {})).body, other.body)
  assert.equal(other.body.secret, `whsec_…${webhook.secret.slice(-4)}`)
  assert.deepEqual(await project.events(), [])
})

test('a paused webhook wants nothing, and an active one its events again', async () => {
  const { project, path, interests } = await newWebhook()
  const paused = await project.patch(path, { status: 'paused' })
  assert.deepEqual([paused.status, paused.body.status, paused.body.disabled_at], [200, 'paused', null])
  assert.deepEqual(await interests(), [])
  await project.patch(path, { events: ['post.created'] })
  assert.deepEqual(await interests(), [])
  const active = await project.patch(path, { status: 'active' })
  assert.deepEqual([active.body.status, active.body.events], ['active', ['post.created']])
  assert.deepEqual(await interests(), [['post.created']])
  assert.deepEqual(await project.events(), [])
})

test('one that was disabled is put back to work with its failures forgotten', async () => {
  const { project, webhook, path, interests, failTimes } = await newWebhook()
  await failTimes(10)
  const key = { project_id: project.id, webhook_id: parseId('whk', webhook.id)! } // made above
  assert.equal(await disableWebhook(app.services, key, 'consecutive_failures'), true)
  const { body: disabled } = await project.get(path)
  assert.deepEqual([disabled.status, disabled.disabled_reason, disabled.consecutive_failures], ['disabled', 'consecutive_failures', 10])
  assert.ok(disabled.disabled_at)
  assert.deepEqual(await interests(), [])
  const renamed = await project.patch(path, { url: `${peer.url}/mended` })
  assert.deepEqual([renamed.body.status, renamed.body.disabled_at], ['disabled', disabled.disabled_at])
  const { status, body } = await project.patch(path, { status: 'active' })
  assert.equal(status, 200)
  assert.deepEqual([body.status, body.consecutive_failures, body.disabled_at, body.disabled_reason], ['active', 0, null, null])
  assert.ok(body.last_failed_at)
  assert.deepEqual(await interests(), [['post.sent', 'list.created']])
})

test('pausing a disabled one takes note of it and keeps its count', async () => {
  const { project, webhook, path, failTimes } = await newWebhook()
  await failTimes(10)
  await disableWebhook(app.services, { project_id: project.id, webhook_id: parseId('whk', webhook.id)! }, 'gone') // made above
  const { body } = await project.patch(path, { status: 'paused' })
  assert.deepEqual([body.status, body.consecutive_failures, body.disabled_at, body.disabled_reason], ['paused', 10, null, null])
})

test('what is wrong is named, and nothing changes', async () => {
  const { project, path } = await newWebhook()
  const { body: before } = await project.get(path)
  const cases: [object, RegExp][] = [
    [{ status: 'disabled' }, /^status: must be active or paused; a webhook is disabled only by its failures$/],
    [{ status: 'on' }, /^status: must be active or paused/],
    [{ status: null }, /^status: must be active or paused/],
    [{ events: [] }, /^events: must name at least one event$/],
    [{ events: ['nothing'] }, /^events\[0\]: "nothing" is no event/],
    [{ url: 'nowhere', status: 'paused' }, /^url: is not a web address/],
  ]
  for (const [body, message] of cases) {
    const answer = await project.patch(path, body)
    assert.deepEqual([answer.status, answer.body.error?.code], [422, 'validation_error'], JSON.stringify(body))
    assert.match(answer.body.error.message, message)
  }
  assert.deepEqual((await project.get(path)).body, before)
  assert.deepEqual(await project.events(), [])
})

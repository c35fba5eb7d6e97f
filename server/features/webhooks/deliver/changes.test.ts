import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { startApp } from '../../../../tests/support/posthaste.ts'
import { until } from '../../../../tests/support/until.ts'
import {
  answerWith,
  asTimePasses,
  createEndpoints,
  namesOf,
  type Reply,
  type TestEndpoint,
  tellOf,
  tellOfMany,
} from '../../../../tests/support/webhooks.ts'
import { formatId } from '../../../base/ids.ts'
import { insertTest } from '../delivery-queries.ts'
import { pruneWebhookDeliveries } from './prune-deliveries.ts'

/** What people and the program do to a webhook while it has deliveries. */
const app = await startApp({ ALLOW_PRIVATE_WEBHOOKS: 'true' })
const newEndpoint = await createEndpoints()
const { database } = app.services

/** Holds what comes until it is told to answer. */
function holding(): { reply: Reply; held: () => number; letGo(status?: number): void } {
  const waiting: Parameters<Reply>[0][] = []
  return {
    reply: (response) => void waiting.push(response),
    held: () => waiting.length,
    letGo: (status = 204) => {
      for (const response of waiting.splice(0)) response.writeHead(status).end()
    },
  }
}

const noticesTo = (address: string) => database.many<{ mail: { subject: string; text: string } }>`
  select mail from messages where kind = 'webhook_disabled' and recipient = ${address}`
const interestOf = ({ uuid }: TestEndpoint) => database.first`select 1 from event_interests where consumer = ${`webhook:${uuid}`}`
const statusesOf = ({ uuid }: TestEndpoint) =>
  database.first<{ pending: number; delivered: number; failed: number }>`
    select count(*) filter (where status = 'pending') as pending, count(*) filter (where status = 'delivered') as delivered,
      count(*) filter (where status = 'failed') as failed
    from webhook_deliveries where webhook_id = ${uuid} and event_type <> 'webhook.test'`

test('ten events in a row that fail switch a webhook off: what waits fails, its owner is told once, and set active it works again', async () => {
  const project = await app.newProject()
  const endpoint = await newEndpoint(project, 'contact_group.created')
  endpoint.reply = answerWith(500)
  const names = Array.from({ length: 40 }, (_, index) => `event ${index}`)
  await tellOfMany(app, project, names)
  const off = await asTimePasses(app, 'it to be switched off', async () => {
    const detail = await endpoint.detail()
    return detail.status === 'disabled' && detail
  })
  assert.equal(off.disabled_reason, 'consecutive_failures')
  assert.ok(off.disabled_at)
  assert.ok(off.consecutive_failures >= 10)
  assert.equal(await interestOf(endpoint), null)
  await until('what waited to have failed', async () => (await statusesOf(endpoint))?.failed === 40)
  const notices = await noticesTo(project.email)
  assert.equal(notices.length, 1)
  assert.match(notices[0]?.mail.text ?? '', /10 events in a row/)

  await tellOf(app, project, 'while it was off')
  endpoint.reply = answerWith(204)
  const before = endpoint.received().length
  // Filed or not, it has been seen by then.
  await until('the consumer to have read it', async () => {
    const behind = await database.first`
      select 1 from events e, event_consumers c where c.name = 'webhooks' and e.project_id = ${project.id}
        and (e.transaction_id, e.position) > (c.transaction_id, c.position)`
    return behind === null
  })
  const { body: on } = await project.patch(`/webhooks/${endpoint.id}`, { status: 'active' })
  assert.deepEqual([on.status, on.consecutive_failures, on.disabled_at, on.disabled_reason], ['active', 0, null, null])
  await tellOf(app, project, 'back at work')
  app.clock.advance(60_000)
  await endpoint.calls(before + 1)
  assert.deepEqual(namesOf(endpoint.received().slice(before)), ['back at work'])
})

test('an endpoint that answers 410 is switched off at once, and its owner told', async () => {
  const project = await app.newProject()
  const endpoint = await newEndpoint(project, 'contact_group.created')
  endpoint.reply = answerWith(410)
  await tellOfMany(app, project, ['one', 'two', 'three'])
  const off = await until('it to be switched off', async () => {
    const detail = await endpoint.detail()
    return detail.status === 'disabled' && detail
  })
  assert.equal(off.disabled_reason, 'gone')
  await until('all to have failed', async () => (await statusesOf(endpoint))?.failed === 3)
  assert.ok(endpoint.received().length < 3, 'nothing begins after the first answer')
  assert.equal((await noticesTo(project.email)).length, 1)
})

test('a webhook whose secret cannot be read is switched off, its owner told what to do, and all others go on', async () => {
  const [project, stranger] = [await app.newProject(), await app.newProject()]
  const endpoint = await newEndpoint(project, 'contact_group.created')
  const witness = await newEndpoint(stranger, 'contact_group.created')
  await database.run`update webhooks set secret = set_byte(secret, 20, get_byte(secret, 20) # 255) where id = ${endpoint.uuid}`
  await tellOf(app, project, 'unsigned')
  await tellOf(app, stranger, 'signed')
  await witness.calls(1)
  const off = await until('it to be switched off', async () => {
    const detail = await endpoint.detail()
    return detail.status === 'disabled' && detail
  })
  assert.deepEqual([off.disabled_reason, off.secret], ['secret_unreadable', 'whsec_…'])
  await until('what waited to have failed', async () => (await statusesOf(endpoint))?.failed === 1)
  const [notice, ...more] = await noticesTo(project.email)
  assert.match(notice?.mail.text ?? '', /cannot read its signing secret.*rotate-secret/s)
  assert.deepEqual(more, [])
  const refused = await project.post(`/webhooks/${endpoint.id}/test`)
  assert.deepEqual([refused.status, refused.body.error?.code], [422, 'validation_error'])

  const { body: rotated } = await project.post(`/webhooks/${endpoint.id}/rotate-secret`)
  assert.equal((await project.patch(`/webhooks/${endpoint.id}`, { status: 'active' })).body.status, 'active')
  await tellOf(app, project, 'signed anew')
  const [call] = await endpoint.calls(1)
  assert.equal(
    call?.headers['x-service-signature'],
    createHmac('sha256', rotated.secret)
      .update(call?.text ?? '')
      .digest('hex'),
  )
})

test('a failing test counts for nothing', async () => {
  const project = await app.newProject()
  const endpoint = await newEndpoint(project, 'contact_group.created')
  endpoint.reply = answerWith(410)
  const { body } = await project.post(`/webhooks/${endpoint.id}/test`)
  assert.equal(body.status, 'failed')
  const { status, consecutive_failures, last_failed_at } = await endpoint.detail()
  assert.deepEqual([status, consecutive_failures, last_failed_at], ['active', 0, null])
})

test('paused, it gets nothing: what waited goes on later, and what happened meanwhile is not sent', async () => {
  const project = await app.newProject()
  const endpoint = await newEndpoint(project, 'contact_group.created')
  const witness = await newEndpoint(project, 'contact_group.created')
  endpoint.reply = answerWith(500)
  await tellOf(app, project, 'before')
  await until('its first attempt', async () => (await endpoint.deliveries()).some(({ attempt }) => attempt === 1))
  await project.patch(`/webhooks/${endpoint.id}`, { status: 'paused' })
  endpoint.reply = answerWith(204)
  await tellOf(app, project, 'meanwhile')
  await witness.calls(2)
  app.clock.advance(3_600_000)
  await tellOf(app, project, 'later')
  await witness.calls(3)
  assert.equal(endpoint.received().length, 1)
  await project.patch(`/webhooks/${endpoint.id}`, { status: 'active' })
  await endpoint.calls(2)
  await tellOf(app, project, 'after')
  await endpoint.calls(3)
  assert.deepEqual(namesOf(endpoint.received()), ['before', 'before', 'after'])
})

test('a webhook that is deleted while it is being called leaves nothing behind', async () => {
  const project = await app.newProject()
  const endpoint = await newEndpoint(project, 'contact_group.created')
  const held = holding()
  endpoint.reply = held.reply
  await tellOfMany(app, project, ['one', 'two', 'three'])
  // Its first yes, to the test, lets it have two at once.
  await until('two calls', () => held.held() === 2)
  assert.equal((await project.delete(`/webhooks/${endpoint.id}`)).status, 204)
  held.letGo()
  const left = () =>
    database.first`
      select 1 from webhook_deliveries where webhook_id = ${endpoint.uuid} union all select 1 from webhook_queues where webhook_id = ${endpoint.uuid}`
  await until('its rows to go', async () => (await left()) === null)
  assert.equal(endpoint.received().length, 2)
  await tellOf(app, project, 'to nobody')
})

test('an address that changes is where the next attempt goes', async () => {
  const project = await app.newProject()
  const [old, next] = [await newEndpoint(project, 'contact_group.created'), await newEndpoint(project, 'list.created')]
  old.reply = answerWith(500)
  await tellOf(app, project, 'moving')
  await until('its first attempt', async () => (await old.deliveries()).some(({ attempt }) => attempt === 1))
  const { url } = await next.detail()
  await project.patch(`/webhooks/${old.id}`, { url })
  await asTimePasses(app, 'it to arrive', async () => next.received().length > 0)
  assert.deepEqual(namesOf(next.received()), ['moving'])
  assert.equal(next.received()[0]?.headers['x-service-delivery-id'], old.received()[0]?.headers['x-service-delivery-id'])
})

test('a secret that is replaced signs the next attempt, with the one before it beside it', async () => {
  const project = await app.newProject()
  const endpoint = await newEndpoint(project, 'contact_group.created')
  endpoint.reply = answerWith(500)
  await tellOf(app, project, 'signed')
  await until('its first attempt', async () => (await endpoint.deliveries()).some(({ attempt }) => attempt === 1))
  const { body } = await project.post(`/webhooks/${endpoint.id}/rotate-secret`)
  endpoint.reply = answerWith(204)
  await asTimePasses(app, 'the second attempt', async () => endpoint.received().length > 1)
  const [first, second] = endpoint.received()
  const hmac = (secret: string, text = '') => createHmac('sha256', secret).update(text).digest('hex')
  assert.equal(first?.headers['x-service-signature'], hmac(endpoint.secret, first?.text))
  assert.equal(second?.headers['x-service-signature'], hmac(body.secret, second?.text))
  assert.equal(String(second?.headers['webhook-signature']).split(' ').length, 2)
})

test('an endpoint that hangs keeps nobody waiting, and gets one request at a time after a while', async () => {
  const project = await app.newProject()
  const hanging = await newEndpoint(project, 'contact_group.created')
  const healthy = await newEndpoint(project, 'contact_group.created')
  const held = holding()
  hanging.reply = held.reply
  const names = Array.from({ length: 50 }, (_, index) => `event ${index}`)
  await tellOfMany(app, project, names)
  await healthy.calls(50)
  assert.ok(held.held() <= 2, `${held.held()} requests hang`)
  hanging.reply = answerWith(204)
  held.letGo()
  await hanging.calls(50)
  assert.deepEqual([...new Set(namesOf(hanging.received()))].sort(), names.sort())
})

test('what is erased from an event is not in the next attempt', async () => {
  const project = await app.newProject()
  const endpoint = await newEndpoint(project, 'contact.created')
  endpoint.reply = answerWith(500)
  const { body: list } = await project.post('/lists', { name: 'Erased' })
  await project.post(`/lists/${list.id}/subscribers`, { email: 'ada@example.com', name: 'Ada', verified: true })
  await until('the first attempt', async () => (await endpoint.deliveries()).some(({ attempt }) => attempt === 1))
  assert.match(endpoint.received()[0]?.text ?? '', /ada@example\.com/)
  const [contact] = (await project.get('/contacts?search=ada')).body
  assert.equal((await project.delete(`/contacts/${contact.id}`)).status, 204)
  await until('the event to be redacted', async () => {
    const named = await database.first`select 1 from events where project_id = ${project.id} and data::text like '%ada@example.com%'`
    return named === null
  })
  await asTimePasses(app, 'the last attempt', async () => endpoint.received().length === 3)
  assert.doesNotMatch(endpoint.received().at(-1)?.text ?? '', /ada@example|"Ada"/)
  assert.equal(endpoint.received().at(-1)?.body.id, endpoint.received()[0]?.body.id)
})

test('an event that is no longer kept fails without a call, and is not held against the endpoint', async () => {
  const project = await app.newProject()
  const endpoint = await newEndpoint(project, 'contact_group.created')
  endpoint.reply = answerWith(500)
  await tellOf(app, project, 'forgotten')
  await until('its first attempt', async () => (await endpoint.deliveries()).some(({ attempt }) => attempt === 1))
  await database.run`delete from events where project_id = ${project.id}`
  const failed = await asTimePasses(app, 'it to fail', async () => (await endpoint.deliveries()).find(({ status }) => status === 'failed'))
  assert.match(failed.error, /no longer kept/)
  assert.equal((await endpoint.detail()).consecutive_failures, 0)
})

test('that the project ended is the last thing its webhooks hear', async () => {
  const project = await app.newProject()
  const endpoint = await newEndpoint(project, 'project.deleted')
  endpoint.reply = answerWith(500)
  assert.equal((await project.delete(`/api/projects/${(await project.get('/api/projects')).body[0].id}`)).status, 204)
  await endpoint.calls(1)
  endpoint.reply = answerWith(204)
  app.clock.advance(60_000)
  await endpoint.calls(2)
  const [first, second] = endpoint.received()
  assert.equal(first?.body.type, 'project.deleted')
  assert.equal(second?.headers['x-service-delivery-id'], first?.headers['x-service-delivery-id'])
})

test('a test that a restart cut off ends as failed; one that is under way does not', async () => {
  const project = await app.newProject()
  const endpoint = await newEndpoint(project, 'contact_group.created')
  const webhook = { project_id: project.id, id: endpoint.uuid }
  const testNow = () => database.transaction((tx) => insertTest(tx, webhook, { next_at: null }))
  const cutOff = await testNow()
  app.clock.advance(120_000)
  const underWay = await testNow()
  await pruneWebhookDeliveries.run(app.services, {})
  const { body: log } = await project.get(`/webhooks/${endpoint.id}/deliveries?event_type=webhook.test`)
  const found = ({ id }: { id: string }) => log.find((one: { id: string }) => one.id === formatId('whd', id))
  assert.deepEqual([found(cutOff).status, found(underWay).status], ['failed', 'pending'])
  assert.match(found(cutOff).error, /restarted/)
})

test('the log is kept for 30 days', async () => {
  const project = await app.newProject()
  const endpoint = await newEndpoint(project, 'contact_group.created')
  await tellOf(app, project, 'old')
  await until('it to be delivered', async () => (await statusesOf(endpoint))?.delivered === 1)
  await pruneWebhookDeliveries.run(app.services, {})
  assert.equal((await statusesOf(endpoint))?.delivered, 1)
  app.clock.advance(31 * 86_400_000)
  await pruneWebhookDeliveries.run(app.services, {})
  assert.equal((await statusesOf(endpoint))?.delivered, 0)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../../tests/support/posthaste.ts'
import { until } from '../../../../tests/support/until.ts'
import { answerWith, asTimePasses, createEndpoints, namesOf, tellOf, tellOfMany } from '../../../../tests/support/webhooks.ts'
import { formatId } from '../../../base/ids.ts'

const app = await startApp({ ALLOW_PRIVATE_WEBHOOKS: 'true' })
const newEndpoint = await createEndpoints()
const { database } = app.services

test('an event reaches every webhook that wants it, once, and no other', async () => {
  const project = await app.newProject()
  const stranger = await app.newProject()
  const lists = await newEndpoint(project, 'list.created')
  const both = await newEndpoint(project, 'list.created', 'list.deleted')
  const others = await newEndpoint(stranger, 'list.created')
  await project.events()
  const { body: list } = await project.post('/lists', { name: 'Hooked' })
  await project.delete(`/lists/${list.id}`)
  await both.calls(2)
  await lists.calls(1)
  const [created] = lists.received()
  assert.equal(created?.body.type, 'list.created')
  assert.equal(created?.body.data.list_id, list.id)
  assert.match(created?.body.id, /^evt_/)
  assert.equal(created?.headers['webhook-id'], created?.body.id)
  assert.equal(created?.headers['content-type'], 'application/json')
  assert.deepEqual(
    both.received().map(({ body }) => body.type),
    ['list.created', 'list.deleted'],
  )
  await until('both to be settled', async () => (await both.deliveries()).every(({ status }) => status === 'delivered'))
  const [newest, oldest] = await both.deliveries()
  assert.deepEqual([newest.event_type, newest.attempt, newest.http_status, newest.error], ['list.deleted', 1, 204, null])
  assert.equal(oldest.id, both.received()[0]?.headers['x-service-delivery-id'])
  assert.equal(oldest.event_id, both.received()[0]?.body.id)
  assert.ok((await both.detail()).last_delivered_at)
  assert.equal(lists.received().length, 1)
  assert.equal(others.received().length, 0)
})

test('events of one row go out one by one, each under an id of its own, and first attempts begin in their order', async () => {
  const project = await app.newProject()
  const endpoint = await newEndpoint(project, 'contact_group.created')
  await tellOf(app, project, 'first')
  const names = Array.from({ length: 90 }, (_, index) => `of many ${index}`)
  await tellOfMany(app, project, names)
  await until('all to be settled', async () => {
    const deliveries = await endpoint.deliveries()
    return deliveries.length === 91 && deliveries.every(({ status }) => status === 'delivered')
  })
  const begun = await database.many<{ id: string; attempted_at: Date }>`
    select id, attempted_at from webhook_deliveries where webhook_id = ${endpoint.uuid} and event_type = 'contact_group.created' order by id`
  const nameOf = new Map(endpoint.received().map((call) => [call.headers['x-service-delivery-id'], call.body.data.name]))
  assert.deepEqual(
    begun.map(({ id }) => nameOf.get(formatId('whd', id))),
    ['first', ...names],
  )
  const times = begun.map(({ attempted_at }) => attempted_at.getTime())
  assert.deepEqual(times, times.toSorted())
  assert.equal(new Set(endpoint.received().map(({ body }) => body.id)).size, 91)
})

test('an endpoint that does well gets several at once, and all of them once', async () => {
  const project = await app.newProject()
  const endpoint = await newEndpoint(project, 'contact_group.created')
  const names = Array.from({ length: 500 }, (_, index) => `one ${index}`)
  let atOnce = 0
  let most = 0
  endpoint.reply = (response) => {
    most = Math.max(most, ++atOnce)
    setTimeout(() => {
      atOnce--
      response.writeHead(200).end()
    }, 5)
  }
  await tellOfMany(app, project, names)
  await endpoint.calls(500)
  const open = () => database.first`select 1 from webhook_deliveries where webhook_id = ${endpoint.uuid} and status = 'pending'`
  await until('all to be settled', async () => (await open()) === null)
  assert.deepEqual(namesOf(endpoint.received()).sort(), names.sort())
  assert.ok(most > 1 && most <= 8, `${most} at once`)
  const idle = await until(
    'the queue to be given back',
    () =>
      database.first<{
        due_at: Date | null
      }>`select due_at from webhook_queues where webhook_id = ${endpoint.uuid} and lease_owner is null`,
  )
  assert.equal(idle.due_at, null)
})

const answers: [name: string, reply: Parameters<typeof answerWith> | 'reset', error: RegExp][] = [
  ['301', [301, { location: '/elsewhere' }], /301; redirects are not followed/],
  ['400', [400], /answered with 400/],
  ['404', [404], /answered with 404/],
  ['429', [429], /answered with 429/],
  ['500', [500], /answered with 500/],
  ['503', [503], /answered with 503/],
  ['a connection that is cut', 'reset', /closed the connection/],
]
for (const [name, reply, error] of answers) {
  test(`after ${name} an event is tried twice more, as the same delivery, and has then failed`, async () => {
    const project = await app.newProject()
    const endpoint = await newEndpoint(project, 'contact_group.created')
    endpoint.reply = reply === 'reset' ? (response) => response.destroy() : answerWith(...reply)
    await tellOf(app, project, 'hello')
    const first = await until('the first attempt to be settled', async () =>
      (await endpoint.deliveries()).find(({ attempt }) => attempt === 1),
    )
    assert.equal(first.status, 'pending')
    assert.match(first.error, error)
    const { next_attempt_at } = (await project.get(`/webhooks/${endpoint.id}/deliveries/${first.id}`)).body
    const waits = Date.parse(next_attempt_at) - app.clock.now().getTime()
    assert.ok(waits > 10_000 && waits < 40_000, `waits ${waits} ms`)
    assert.equal((await endpoint.detail()).consecutive_failures, 0)
    const last = await asTimePasses(app, 'it to fail', async () => (await endpoint.deliveries()).find(({ status }) => status === 'failed'))
    assert.deepEqual([last.id, last.attempt], [first.id, 3])
    // A connection that was kept and is cut may have been closed before: then an attempt is a second request on a new one.
    assert.ok(reply === 'reset' ? endpoint.received().length >= 3 : endpoint.received().length === 3)
    assert.deepEqual([...new Set(endpoint.received().map(({ headers }) => headers['x-service-delivery-id']))], [first.id])
    assert.equal(new Set(endpoint.received().map(({ body }) => body.id)).size, 1)
    const { consecutive_failures, last_failed_at, status } = await endpoint.detail()
    assert.deepEqual([consecutive_failures, status], [1, 'active'])
    assert.ok(last_failed_at)
  })
}

for (const status of [200, 202, 299]) {
  test(`${status} is a yes, and ends a row of failures`, async () => {
    const project = await app.newProject()
    const endpoint = await newEndpoint(project, 'contact_group.created')
    await database.run`update webhooks set consecutive_failures = 7 where project_id = ${project.id}`
    endpoint.reply = answerWith(status)
    await tellOf(app, project, 'hello')
    const delivery = await until('the delivery', async () => (await endpoint.deliveries()).find((one) => one.status === 'delivered'))
    assert.deepEqual([delivery.http_status, delivery.attempt], [status, 1])
    const { response } = (await project.get(`/webhooks/${endpoint.id}/deliveries/${delivery.id}`)).body
    assert.equal(response.body, 'so be it')
    assert.equal((await endpoint.detail()).consecutive_failures, 0)
  })
}

for (const [asked, least, most] of [
  ['1800', 1_790, 1_810],
  ['999999', 3_590, 3_610],
  [new Date(app.clock.now().getTime() + 86_400_000).toUTCString(), 3_590, 3_610],
  ['soon', 20, 40],
] as const) {
  test(`a Retry-After of ${asked.length > 10 ? 'a date' : asked} is kept to, for an hour at most`, async () => {
    const project = await app.newProject()
    const endpoint = await newEndpoint(project, 'contact_group.created')
    endpoint.reply = answerWith(503, { 'retry-after': asked })
    await tellOf(app, project, 'hello')
    const waiting = await until(
      'the attempt',
      () =>
        database.first<{ next_at: Date; attempted_at: Date }>`
        select next_at, attempted_at from webhook_deliveries where webhook_id = ${endpoint.uuid} and attempt = 1 and status = 'pending'`,
    )
    const seconds = (waiting.next_at.getTime() - waiting.attempted_at.getTime()) / 1_000
    assert.ok(seconds >= least && seconds <= most, `waits ${seconds} s`)
  })
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { startWebhookPeer } from '../../../tests/support/webhook-peer.ts'
import { formatId, newId, parseId } from '../../base/ids.ts'
import { publishBulk } from '../../events/publish.ts'

const app = await startApp({ ALLOW_PRIVATE_WEBHOOKS: 'true', WEBHOOK_BACKOFF_SECONDS: '3600,3600' })
const peer = await startWebhookPeer()
const { database } = app.services

async function newWebhook(name: string, events = ['list.created', 'contact_group.created']) {
  const project = await app.newProject()
  const { body: webhook } = await project.post('/webhooks', { url: `${peer.url}/${name}`, events })
  const path = `/webhooks/${webhook.id}`
  const settled = (count: number) =>
    until(`${count} deliveries are settled`, async () => {
      const { body } = await project.get(`${path}/deliveries`)
      return body.length === count && body.every(({ status }: { status: string }) => status !== 'pending') && body
    })
  await settled(1)
  return { project, webhook, path, settled }
}

const typesOf = (body: { event_type: string }[]) => body.map(({ event_type }) => event_type)
const newGroup = (project: TestProject, name: string) => project.post('/contact-groups', { name })

test('deliveries are listed newest first, by status and type, a page at a time', async () => {
  const { project, path, settled } = await newWebhook('listed')
  await newGroup(project, 'One')
  await settled(2)
  const { body: list } = await project.post('/lists', { name: 'Listed' })
  const all = await settled(3)
  assert.deepEqual(typesOf(all), ['list.created', 'contact_group.created', 'webhook.test'])
  const { body: answered, headers } = await project.get(`${path}/deliveries?limit=2`)
  assert.deepEqual(answered, all.slice(0, 2))
  const next = new URL(/^<(.*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1] ?? '')
  const last = await project.get(next.pathname + next.search)
  assert.deepEqual([last.body, last.headers.get('link')], [all.slice(2), null])
  const get = async (query: string) => typesOf((await project.get(`${path}/deliveries${query}`)).body)
  assert.deepEqual(await get('?status=delivered&event_type=contact_group.created'), ['contact_group.created'])
  assert.deepEqual(await get('?event_type=webhook.test'), ['webhook.test'])
  assert.deepEqual(await get('?status=failed'), [])
  const [newest] = all
  const call = await peer.call('list.created', (one) => one.path === '/listed')
  assert.equal(call.body.data.list_id, list.id)
  assert.deepEqual(
    { ...newest, duration_ms: 0, delivered_at: 0, created_at: 0 },
    {
      id: call.headers['x-service-delivery-id'],
      event_type: 'list.created',
      event_id: call.body.id,
      http_status: 204,
      duration_ms: 0,
      attempt: 1,
      status: 'delivered',
      error: null,
      delivered_at: 0,
      created_at: 0,
    },
  )
})

test('what is pending is found at once, however many are delivered', async () => {
  const { project, webhook, path } = await newWebhook('many')
  await database.run`
    insert into webhook_deliveries (project_id, webhook_id, id, event_id, event_type, status, created_at)
    select ${project.id}, ${parseId('whk', webhook.id)}, gen_random_uuid(), gen_random_uuid(), 'list.created', 'delivered', now()
    from generate_series(1, 20000)`
  await database.run`analyze webhook_deliveries`
  await until('a look at the pending ones alone', async () => {
    assert.deepEqual((await project.get(`${path}/deliveries?status=pending`)).body, [])
    return database.first`
      select 1 from pg_stat_user_indexes where indexrelname = 'webhook_deliveries_pending' and idx_scan > 0`
  })
})

test('a wrong limit, cursor, status or type is refused', async () => {
  const { project, path } = await newWebhook('refused')
  await project.events()
  const cases: [string, RegExp][] = [
    ['limit=0', /^limit: must be at least 1$/],
    ['limit=201', /^limit: must be at most 200$/],
    ['cursor=x', /^cursor: is not a cursor of this collection/],
    ['status=lost', /^status: must be one of pending, delivered, failed$/],
    ['event_type=post', /^event_type: must be the name of an event, or webhook.test$/],
  ]
  for (const [query, message] of cases) {
    const { status, body } = await project.get(`${path}/deliveries?${query}`)
    assert.deepEqual([status, body.error?.code], [422, 'validation_error'], query)
    assert.match(body.error.message, message)
  }
  assert.deepEqual(await project.events(), [])
})

test('one delivery shows what was sent, without signatures, and what came back, cut short', async () => {
  const { project, path } = await newWebhook('shown')
  peer.reply = (response) =>
    response
      .writeHead(500, { 'content-type': 'text/plain', 'x-request-id': 'r1', 'set-cookie': 'session=1' })
      .end(`Sorry\0${'x'.repeat(20_000)}`)
  await newGroup(project, 'Shown')
  const [failed] = await until('the first attempt has failed', async () => {
    const { body } = await project.get(`${path}/deliveries?event_type=contact_group.created`)
    return body[0]?.attempt === 1 && body
  })
  peer.reply = (response) => response.writeHead(204).end()
  assert.deepEqual([failed.status, failed.http_status, failed.error], ['pending', 500, 'answered with 500'])
  const { status, body } = await project.get(`${path}/deliveries/${failed.id}`)
  assert.equal(status, 200)
  const call = await peer.call('contact_group.created', (one) => one.path === '/shown')
  assert.equal(body.request.url, `${peer.url}/shown`)
  assert.equal(body.request.body, call.text)
  for (const [name, value] of Object.entries(body.request.headers)) assert.equal(call.headers[name.toLowerCase()], value, name)
  assert.deepEqual(
    Object.keys(body.request.headers).filter((name) => /signature/i.test(name)),
    [],
  )
  assert.ok(Date.parse(body.next_attempt_at) > app.clock.now().getTime() + 1_800_000)
  assert.equal(body.response.status, 500)
  assert.deepEqual({ ...body.response.headers, date: 0 }, { 'content-type': 'text/plain', date: 0, 'x-request-id': 'r1' })
  assert.equal(body.response.body.slice(0, 10), 'Sorry\ufffdxxxx')
  assert.ok(Buffer.byteLength(body.response.body) < 8_200)
})

test('a delivery of one event among thousands of a bulk row shows its own', async () => {
  const { project, path, settled } = await newWebhook('bulk', ['contact_group.deleted'])
  const ids = Array.from({ length: 3 }, () => formatId('grp', newId()))
  await database.transaction((tx) =>
    publishBulk(tx, project.id, 'contact_group.deleted', {
      template: { contact_group_id: '$0', name: 'Gone' },
      rows: ids.map((id) => [id]),
    }),
  )
  const all = await settled(4)
  const told = []
  for (const { id } of all.slice(0, 3)) told.push(JSON.parse((await project.get(`${path}/deliveries/${id}`)).body.request.body))
  assert.deepEqual(told.map(({ data }) => data.contact_group_id).reverse(), ids)
  assert.deepEqual(
    told.map(({ id }) => id),
    all.slice(0, 3).map(({ event_id }: { event_id: string }) => event_id),
  )
  assert.equal(new Set(told.map(({ id }) => id)).size, 3)
})

test('a replay sends the same event under a new delivery id', async () => {
  const { project, path, settled } = await newWebhook('replayed')
  await newGroup(project, 'Replayed')
  const [delivery] = await settled(2)
  await project.events()
  const { status, body } = await project.post(`${path}/deliveries/${delivery.id}/replay`)
  assert.equal(status, 202)
  assert.notEqual(body.id, delivery.id)
  assert.deepEqual(
    { ...body, id: 0, created_at: 0 },
    {
      id: 0,
      event_type: 'contact_group.created',
      event_id: delivery.event_id,
      http_status: null,
      duration_ms: null,
      attempt: 0,
      status: 'pending',
      error: null,
      delivered_at: null,
      created_at: 0,
    },
  )
  const again = await peer.call('contact_group.created', ({ headers }) => headers['x-service-delivery-id'] === body.id)
  const first = await peer.call('contact_group.created', ({ headers }) => headers['x-service-delivery-id'] === delivery.id)
  assert.equal(again.text, first.text)
  assert.equal(again.headers['webhook-id'], first.headers['webhook-id'])
  const [newest] = await settled(3)
  assert.deepEqual([newest.id, newest.status], [body.id, 'delivered'])
  assert.deepEqual(await project.events(), [])
})

test('while a replay waits, asking for another answers that one', async () => {
  const { project, path, settled } = await newWebhook('replayed-twice')
  await newGroup(project, 'Twice')
  const [delivery] = await settled(2)
  peer.reply = (response, call) => response.writeHead(call.path === '/replayed-twice' ? 500 : 204).end()
  const replay = async () => (await project.post(`${path}/deliveries/${delivery.id}/replay`)).body
  const first = await replay()
  await until('it has failed once', async () => (await project.get(`${path}/deliveries/${first.id}`)).body.attempt === 1)
  const second = await replay()
  assert.deepEqual([second.id, second.attempt], [first.id, 1])
  assert.equal((await project.get(`${path}/deliveries`)).body.length, 3)
  peer.reply = (response) => response.writeHead(204).end()
  app.clock.advance(7_200_000)
  await settled(3)
  assert.notEqual((await replay()).id, first.id)
  await settled(4)
})

test('what cannot be replayed is refused with its reason', async () => {
  const { project, path, settled } = await newWebhook('unplayed')
  await newGroup(project, 'Unplayed')
  const [delivery, tested] = await settled(2)
  await project.events()
  const refused = async (id: string, message: RegExp) => {
    const { status, body } = await project.post(`${path}/deliveries/${id}/replay`)
    assert.deepEqual([status, body.error?.code], [422, 'validation_error'])
    assert.match(body.error.message, message)
  }
  await refused(tested.id, /^deliveryId: is a test/)
  await project.patch(path, { status: 'paused' })
  await refused(delivery.id, /^id: the webhook is paused, so nothing is sent to it/)
  await project.patch(path, { status: 'active' })
  assert.equal((await project.post(`${path}/deliveries/${formatId('whd', newId())}/replay`)).status, 404)
  assert.deepEqual(await project.events(), [])
  await database.run`delete from events where project_id = ${project.id} and id = ${parseId('evt', delivery.event_id)}`
  await refused(delivery.id, /^deliveryId: its event is no longer kept/)
  const { body } = await project.get(`${path}/deliveries/${delivery.id}`)
  assert.equal(body.request.body, null)
  assert.equal((await project.get(`${path}/deliveries`)).body.length, 2)
})

test('what is erased from an event is gone from the log, in the request and in the answer', async () => {
  const { project, path, settled } = await newWebhook('erased', ['contact.created'])
  peer.reply = (response, call) => response.writeHead(200).end(`Thanks for ${call.body.data.contact?.email ?? 'the test'}`)
  const { body: list } = await project.post('/lists', { name: 'Erased' })
  await project.post(`/lists/${list.id}/subscribers`, { email: 'Forget.Me@example.com', verified: true })
  const [delivery] = await settled(2)
  const shown = async () => JSON.stringify((await project.get(`${path}/deliveries/${delivery.id}`)).body)
  assert.match(await shown(), /Thanks for Forget\.Me@example\.com/)
  const { contact_id } = JSON.parse((await project.get(`${path}/deliveries/${delivery.id}`)).body.request.body).data
  assert.equal((await project.delete(`/contacts/${contact_id}`)).status, 204)
  await until('nothing of them is left', async () => !/forget\.me/i.test(await shown()))
  peer.reply = (response) => response.writeHead(204).end()
})

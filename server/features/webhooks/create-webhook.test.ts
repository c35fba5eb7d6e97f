import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { until } from '../../../tests/support/until.ts'
import { startWebhookPeer } from '../../../tests/support/webhook-peer.ts'
import { formatId, newId } from '../../base/ids.ts'
import { eventTypes } from '../../events/catalogue.ts'
import { wantedEvents } from '../../events/interests.ts'
import { maxWebhooks } from './webhook.ts'

const app = await startApp({ ALLOW_PRIVATE_WEBHOOKS: 'true' })
const dns = await startDnsPeer({ 'inside.example.com': { A: ['10.0.0.5'] }, 'half.example.com': { A: ['93.184.215.14', '127.0.0.1'] } })
after(() => dns.close())
/** As it is out there: nothing here is ever sent, because every address is refused. */
const strict = await startApp({ DNS_SERVERS: dns.address })
const peer = await startWebhookPeer()
const { database } = app.services

test('a webhook is made with its secret, once, and wants its events', async () => {
  const project = await app.newProject()
  const url = `${peer.url}/made`
  const { status, body } = await project.post('/webhooks', { url, events: ['post.sent', 'list.created', 'post.sent'] })
  assert.equal(status, 201)
  assert.match(body.id, /^whk_[0-9a-z]{26}$/)
  assert.match(body.secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.ok(Math.abs(Date.parse(body.created_at) - app.clock.now().getTime()) < 60_000)
  assert.deepEqual(
    { ...body, id: 0, secret: 0, created_at: 0 },
    { id: 0, url, events: ['post.sent', 'list.created'], secret: 0, status: 'active', created_at: 0 },
  )
  assert.deepEqual(await project.events(), [])
  assert.deepEqual([...(await wantedEvents(database, project.id))].sort(), ['list.created', 'post.sent'])
  const { body: detail } = await project.get(`/webhooks/${body.id}`)
  assert.equal(detail.secret, `whsec_…${body.secret.slice(-4)}`)
  const [row] = await database.many<{ secret: Buffer }>`select secret from webhooks where project_id = ${project.id}`
  assert.ok(!row?.secret.includes(body.secret.slice(6)), 'sealed in the database')
  const audit = await database.many<{ operation: string }>`select operation from audit_log where project_id = ${project.id}`
  assert.deepEqual(audit, [{ operation: 'webhooks.create' }])
})

test('a signed test follows, and is the first delivery', async () => {
  const project = await app.newProject()
  const { body: webhook } = await project.post('/webhooks', { url: `${peer.url}/tested`, events: ['post.sent'] })
  const call = await peer.call('webhook.test', ({ path }) => path === '/tested')
  const told = new Webhook(webhook.secret).verify(call.text, call.headers as Record<string, string>) as Record<string, unknown>
  assert.equal(call.method, 'POST')
  assert.equal(call.headers['content-type'], 'application/json')
  assert.deepEqual(Object.keys(told), ['id', 'type', 'created_at', 'data'])
  assert.equal(told.type, 'webhook.test')
  assert.equal(told.id, call.headers['webhook-id'])
  assert.deepEqual(Object.keys(told.data as object), ['webhook_id', 'message'])
  assert.equal(call.body.data.webhook_id, webhook.id)
  const [delivery] = await until('the delivery is settled', async () => {
    const { body } = await project.get(`/webhooks/${webhook.id}/deliveries?status=delivered`)
    return body.length > 0 && body
  })
  assert.equal(delivery.id, call.headers['x-service-delivery-id'])
  assert.deepEqual([delivery.event_type, delivery.event_id, delivery.http_status, delivery.attempt], ['webhook.test', told.id, 204, 1])
  const { body: detail } = await project.get(`/webhooks/${webhook.id}`)
  assert.deepEqual([detail.consecutive_failures, detail.last_delivered_at, detail.last_failed_at], [0, null, null])
})

test('a webhook is made also when the test fails, which shows in its deliveries and counts for nothing', async () => {
  const project = await app.newProject()
  const { status, body: webhook } = await project.post('/webhooks', { url: 'http://127.0.0.1:9/', events: ['post.sent'] })
  assert.equal(status, 201)
  const [delivery] = await until('the delivery has failed', async () => {
    const { body } = await project.get(`/webhooks/${webhook.id}/deliveries?status=failed`)
    return body.length > 0 && body
  })
  assert.deepEqual([delivery.event_type, delivery.http_status, delivery.attempt], ['webhook.test', null, 1])
  assert.match(delivery.error, /127\.0\.0\.1 refused the connection/)
  const { body: detail } = await project.get(`/webhooks/${webhook.id}`)
  assert.deepEqual([detail.status, detail.consecutive_failures, detail.last_failed_at], ['active', 0, null])
})

test('all 37 events can be wanted', async () => {
  const project = await app.newProject()
  const { status, body } = await project.post('/webhooks', { url: peer.url, events: eventTypes })
  assert.equal(status, 201)
  assert.equal(body.events.length, 37)
  assert.ok(body.events.includes('project.deleted'))
})

test('what is wrong is named, and nothing is made', async () => {
  const project = await app.newProject()
  const [url, events] = [peer.url, ['post.sent']]
  const cases: [unknown, RegExp][] = [
    [undefined, /^url: is required; events: is required$/],
    [{ url }, /^events: is required$/],
    [{ events }, /^url: is required$/],
    [{ url, events: [] }, /^events: must name at least one event$/],
    [{ url, events: 'post.sent' }, /^events: must be an array$/],
    [{ url, events: ['post.sent', 'post.burnt'] }, /^events\[1\]: "post\.burnt" is no event/],
    [{ url, events: ['webhook.test'] }, /^events\[0\]: "webhook\.test" is no event/],
    [{ url, events: ['*'] }, /^events\[0\]: "\*" is no event/],
    [{ url, events: [7] }, /^events\[0\]: must be the name of an event$/],
    [{ url, events: ['POST.SENT'] }, /^events\[0\]: "POST\.SENT" is no event/],
    [{ url, events: Array(1_001).fill('post.sent') }, /^events: must have at most 1000 items$/],
    [{ url: 7, events }, /^url: must be a string$/],
    [{ url: 'example', events }, /^url: is not a web address/],
    [{ url: 'ftp://example.com/', events }, /^url: must begin with https:\/\//],
    [{ url: 'https://user:word@example.com/', events }, /^url: must not have a user name or a password in it$/],
    [{ url: `https://example.com/${'a'.repeat(2_048)}`, events }, /^url: must have at most 2048 characters$/],
  ]
  for (const [body, message] of cases) {
    const answer = await project.post('/webhooks', body)
    assert.deepEqual([answer.status, answer.body.error?.code], [422, 'validation_error'], JSON.stringify(body)?.slice(0, 100))
    assert.match(answer.body.error.message, message)
  }
  assert.deepEqual((await project.get('/webhooks')).body, [])
  assert.deepEqual(await project.events(), [])
  assert.equal((await wantedEvents(database, project.id)).size, 0)
})

test('only public https addresses are taken, and the answer says what is wrong with the others', async () => {
  const project = await strict.newProject()
  const cases: [string, RegExp][] = [
    ['http://hooks.example.com/', /^url: must begin with https/],
    ['https://127.0.0.1/', /^url: 127\.0\.0\.1 is not a public address$/],
    ['https://2130706433/', /^url: 127\.0\.0\.1 is not a public address$/],
    ['https://[::ffff:10.0.0.1]/', /is not a public address$/],
    ['https://169.254.169.254/latest', /is not a public address$/],
    ['https://localhost/', /is not a public address$/],
    ['https://hooks.example.com:22/', /^url: names port 22/],
    ['https://inside.example.com/', /^url: inside\.example\.com leads to 10\.0\.0\.5, which is not a public address$/],
    ['https://half.example.com/', /^url: half\.example\.com leads to 127\.0\.0\.1, which is not a public address$/],
    ['https://nowhere.example.com/', /nowhere\.example\.com does not resolve/],
  ]
  for (const [url, message] of cases) {
    const { status, body } = await project.post('/webhooks', { url, events: ['post.sent'] })
    assert.deepEqual([status, body.error?.code], [422, 'validation_error'], url)
    assert.match(body.error.message, message)
  }
  assert.deepEqual((await project.get('/webhooks')).body, [])
  assert.deepEqual(await project.events(), [])
})

test(`a project has at most ${maxWebhooks}, also when many are made at once`, async () => {
  const project = await app.newProject()
  for (let index = 0; index < maxWebhooks - 3; index++)
    await database.run`
      insert into webhooks (project_id, id, url, events, secret, created_at, updated_at)
      values (${project.id}, ${newId<'whk'>()}, ${peer.url}, ${['post.sent']}, ${Buffer.of(1)}, now(), now())`
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => project.post('/webhooks', { url: `${peer.url}/many`, events: ['post.sent'] })),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 201, 201, 422, 422, 422, 422, 422])
  const refused = answers.find(({ status }) => status === 422)
  assert.equal(
    refused?.body.error.message,
    `url: cannot be added: the project has ${maxWebhooks} webhooks, and there is no room for more. Delete one first`,
  )
  assert.deepEqual(await project.events(), [])
})

test('reading takes the scope read, changing takes write, and the key of a mailbox does neither', async () => {
  const project = await app.newProject()
  const { body: webhook } = await project.post('/webhooks', { url: peer.url, events: ['post.sent'] })
  const reader = await project.withKey(['read'])
  assert.equal((await reader.get('/webhooks')).status, 200)
  assert.equal((await reader.post('/webhooks', { url: peer.url, events: ['post.sent'] })).status, 403)
  assert.equal((await reader.delete(`/webhooks/${webhook.id}`)).status, 403)
  const { body: mailbox } = await project.post('/mailboxes', { name: 'Bound' })
  const { body: token } = await project.post('/api/tokens', { name: 'bound', scope: 'read,write', mailbox_id: mailbox.id })
  const asked = await fetch(`${app.url}/v1/webhooks`, { headers: { authorization: `Bearer ${token.key}` } })
  assert.equal(asked.status, 403)
})

test('another project’s webhook is not there', async () => {
  const [project, stranger] = [await app.newProject(), await app.newProject()]
  const { body: webhook } = await project.post('/webhooks', { url: peer.url, events: ['post.sent'] })
  const { body: deliveries } = await project.get(`/webhooks/${webhook.id}/deliveries`)
  const paths: [string, string][] = [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/test'],
    ['POST', '/rotate-secret'],
    ['GET', '/deliveries'],
    ['GET', `/deliveries/${deliveries[0].id}`],
    ['POST', `/deliveries/${deliveries[0].id}/replay`],
    ['GET', `/deliveries/${formatId('whd', newId())}`],
  ]
  for (const [method, path] of paths) {
    const options = method === 'PATCH' ? { body: '{"status":"paused"}', headers: { 'content-type': 'application/json' } } : {}
    const answer = await stranger.request(method, `/webhooks/${webhook.id}${path}`, options)
    assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'], `${method} ${path}`)
  }
  assert.equal((await project.get(`/webhooks/${webhook.id}`)).body.status, 'active')
  assert.deepEqual([await project.events(), await stranger.events()], [[], []])
})

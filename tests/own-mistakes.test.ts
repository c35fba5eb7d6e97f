import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '../server/base/ids.ts'
import { startApp } from './support/posthaste.ts'
import { broadcastOf, importReaders, newPost } from './support/posts.ts'
import { startSmtpPeer } from './support/smtp-peer.ts'
import { until } from './support/until.ts'

/** What goes wrong here, before anybody is asked, is no bounce of anybody. */
const peer = await startSmtpPeer()
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
const { database } = app.services
const reason =
  'The DKIM key s1 of posthaste.test cannot be used; is SECRET_KEY the one that it was made with? "posthaste dkim --rotate" makes a new key'

test('a key that cannot be opened puts mail off, pauses a post that gets nowhere, and harms nobody', async () => {
  const { project, post, path, list } = await newPost(app)
  await importReaders(project, list.id, 60)
  await database.run`
    insert into dkim_keys (project_id, id, domain, selector, algorithm, private_key, public_key, created_at)
    values (${project.id}, ${newId()}, 'posthaste.test', 's1', 'rsa-sha256', '\\x00010203', 'x', now())`
  app.clock.advance(61_000)
  await project.post(`${path}/send`)
  const putOff = { status: 'queued', smtp_code: null, enhanced_code: null, reason, attempts: 1 }
  await until('all to be put off', async () => {
    const rows = await database.many`
      select distinct status, smtp_code, enhanced_code, reason, attempts from deliveries where project_id = ${project.id}`
    return rows.length === 1 && JSON.stringify(rows[0]) === JSON.stringify(putOff)
  })
  app.clock.advance(3 * 60_000)
  const paused = await until('the breaker', async () => {
    const broadcast = await broadcastOf(app, project, post.id)
    return broadcast?.status === 'paused' ? broadcast : null
  })
  assert.ok(paused.reason?.includes(reason), paused.reason ?? '')

  const single = await project.post('/emails', { from: list.mailbox_address, to: 'ann@example.org', subject: 'Hi', text: 'Hi' })
  assert.equal(single.status, 502)
  assert.ok(single.body.error.message.includes(reason))
  assert.deepEqual((await project.get('/suppressions')).body, [])
  assert.deepEqual(peer.messages, [])

  await database.run`delete from dkim_keys`
  app.clock.advance(61_000)
  assert.equal((await project.post(`${path}/resume`)).status, 200)
  app.clock.advance(11 * 60_000)
  await until('the end', async () => (await project.get(path)).body.status === 'sent')
  assert.deepEqual((await project.get(path)).body.stats, { recipients: 60, delivered: 60, opened: 0, clicked: 0, bounced: 0 })
})

test('what cannot be put together for one recipient fails for that one, and can be tried again', async () => {
  peer.messages.length = 0
  const { project, path } = await newPost(app, {
    subscribers: 3,
    body: { body_html: '<p>{% for number in (1..contact.metadata.count) %}x{% endfor %}</p>' },
  })
  const setCount = (count: number) => database.run`
    update contacts set metadata = jsonb_build_object('count', ${count}::integer) where project_id = ${project.id} and email = 'reader-2@example.org'`
  await setCount(10_000_000)
  await project.post(`${path}/send`)
  await until('the end', async () => (await project.get(path)).body.status === 'sent')
  const { body: deliveries } = await project.get(`${path}/deliveries?status=failed`)
  assert.deepEqual(
    deliveries.map((row: Record<string, unknown>) => [row.email, row.smtp_code, row.enhanced_code, row.reason]),
    [['reader-2@example.org', null, null, 'The message could not be put together for this recipient']],
  )
  assert.deepEqual((await project.get('/suppressions')).body, [])
  await setCount(2)
  assert.deepEqual((await project.post(`${path}/deliveries/retry`)).body, { retried: 1 })
  await until('the end', async () => (await project.get(path)).body.stats.delivered === 3)
  assert.deepEqual(
    peer.messages.flatMap(({ to }) => to).sort(),
    [1, 2, 3].map((number) => `reader-${number}@example.org`),
  )
})

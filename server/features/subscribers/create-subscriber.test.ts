import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { linkIn, mailsTo, mailTo } from '../../../tests/support/received-mail.ts'
import { startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { assertCounts, queuedMail } from '../../../tests/support/subscribers.ts'
import { formatId, newId } from '../../base/ids.ts'
import { addressHash } from '../suppressions/suppression.ts'

const peer = await startSmtpPeer()
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })

async function newList(name = 'News') {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name })
  await project.events()
  return { project, list, path: `/lists/${list.id}/subscribers` }
}

test('without verified, a person is pending and gets one mail that asks', async () => {
  const { project, list, path } = await newList()
  const { status, body } = await project.post(path, { email: 'Ann@Example.org', name: 'Ann' })
  assert.equal(status, 201)
  assert.match(body.id, /^sub_[0-9a-z]{26}$/)
  const { id, created_at, ...rest } = body
  assert.deepEqual(rest, { email: 'Ann@example.org', name: 'Ann', status: 'pending', source: 'api', subscribed_at: null })
  const events = await project.eventsWithData()
  assert.deepEqual(
    events.map((event) => event.type),
    ['contact.created', 'subscriber.created'],
  )
  assert.deepEqual(events[1]?.data, { subscriber_id: id, list_id: list.id, contact_id: events[0]?.data.contact_id, subscriber: body })

  const mail = await mailTo(peer, 'Ann@example.org')
  assert.deepEqual([mail.from?.address, mail.from?.name], [list.mailbox_address, 'News'])
  assert.equal(mail.subject, 'Confirm your subscription to News')
  assert.ok(linkIn(mail).startsWith(`${app.url}/confirm/`))
  assert.equal(mail.headers.find((header) => header.key === 'auto-submitted')?.value, 'auto-generated')
  assert.ok(created_at)
  await assertCounts(app, project, list.id, { pending: 1 })
})

test('with verified, a person is active at once and gets no mail', async () => {
  const { project, list, path } = await newList()
  const { status, body } = await project.post(path, { email: 'vera@example.org', verified: true })
  assert.equal(status, 201)
  assert.deepEqual([body.status, body.source, body.name], ['active', 'verified_api', null])
  assert.equal(body.subscribed_at, body.created_at)
  assert.deepEqual(await project.events(), ['contact.created', 'subscriber.created'])
  assert.deepEqual(await queuedMail(app, project), [])
  await assertCounts(app, project, list.id, { active: 1 })
})

test('fifty identical requests at once make one subscriber, one event and one mail', async () => {
  const { project, list, path } = await newList()
  const answers = await Promise.all(Array.from({ length: 50 }, () => project.post(path, { email: 'rush@example.org', name: 'Rush' })))
  for (const { status, body } of answers) {
    assert.equal(status, 201)
    assert.deepEqual(body, answers[0]?.body)
  }
  assert.deepEqual(await project.events(), ['contact.created', 'subscriber.created'])
  await mailTo(peer, 'rush@example.org')
  assert.deepEqual(
    (await queuedMail(app, project)).map((mail) => mail.recipient),
    ['rush@example.org'],
  )
  assert.equal(mailsTo(peer, 'rush@example.org').length, 1)
  await assertCounts(app, project, list.id, { pending: 1 })
})

test('an address that is active or pending is answered as it is, in whatever case it comes', async () => {
  const { project, list, path } = await newList()
  const { body: pending } = await project.post(path, { email: 'Zoë@bücher.example', name: 'Zoë' })
  const { body: active } = await project.post(path, { email: 'act@example.org', verified: true })
  await project.events()
  for (const email of ['zoë@bücher.example', 'ZOË@BÜCHER.example', 'zoe\u0308@xn--bcher-kva.example', ' Zoë@bücher.example '])
    for (const verified of [false, true]) {
      const { status, body } = await project.post(path, { email, verified })
      assert.equal(status, 201)
      assert.deepEqual(body, pending)
    }
  assert.deepEqual((await project.post(path, { email: 'ACT@EXAMPLE.ORG' })).body, active)
  assert.deepEqual(await project.events(), [])
  assert.equal((await queuedMail(app, project)).length, 1)
  await assertCounts(app, project, list.id, { active: 1, pending: 1 })
})

test('who has unsubscribed must confirm again, whoever vouches, and is asked once', async () => {
  const { project, list, path } = await newList()
  const { body: ann } = await project.post(path, { email: 'again@example.org', verified: true })
  await project.patch(`${path}/${ann.id}`, { status: 'unsubscribed' })
  await project.events()
  const answers = await Promise.all(Array.from({ length: 10 }, () => project.post(path, { email: 'Again@example.org', verified: true })))
  for (const { status, body } of answers) {
    assert.equal(status, 201)
    assert.deepEqual([body.id, body.status], [ann.id, 'pending'])
  }
  assert.deepEqual(await project.events(), [])
  await assertCounts(app, project, list.id, { pending: 1 })
  const mail = await mailTo(peer, 'again@example.org')
  assert.equal((await queuedMail(app, project)).length, 1)

  assert.equal((await fetch(linkIn(mail), { method: 'POST' })).status, 200)
  assert.equal((await project.get(`${path}/${ann.id}`)).body.status, 'active')
  assert.deepEqual(await project.events(), ['subscriber.confirmed'])
  await assertCounts(app, project, list.id, { active: 1 })
})

test('a suppressed address is refused, also when it is on the list already, and nothing is changed', async () => {
  const { project, list, path } = await newList()
  const { body: bob } = await project.post(path, { email: 'bob@example.org', verified: true })
  await project.events()
  const hash = addressHash(project.id, 'bob@example.org')
  await app.services.database.run`
    insert into suppressions (project_id, address_hash, email, reason) values (${project.id}, ${hash}, 'bob@example.org', 'complaint')`
  for (const email of ['bob@example.org', 'BOB@EXAMPLE.ORG']) {
    const { status, body } = await project.post(path, { email, verified: true, tags: ['x'] })
    assert.equal(status, 422)
    assert.equal(body.error.code, 'validation_error')
    assert.match(body.error.message, /^email: is suppressed .*complaint/)
  }
  const other = await newList('Elsewhere')
  assert.equal((await other.project.post(other.path, { email: 'bob@example.org', verified: true })).status, 201)
  assert.deepEqual(await project.events(), [])
  assert.equal((await project.get(`${path}/${bob.id}`)).body.status, 'active')
  await assertCounts(app, project, list.id, { active: 1 })
})

test('addresses of all scripts are welcome, and reach the other server as they are', async () => {
  const { project, path } = await newList('Ünïcode')
  for (const email of ['🦊@example.org', 'δοκιμή@παράδειγμα.δοκιμή', '用户@例子.广告', "o'hara+tag@sub.example.co.uk"]) {
    const { status, body } = await project.post(path, { email })
    assert.equal(status, 201, email)
    assert.equal(body.email, email)
    const [queued] = (await queuedMail(app, project)).filter((mail) => mail.recipient === email)
    assert.ok(queued)
  }
  const mail = await mailTo(peer, '🦊@example.org')
  assert.match(mail.message.parameters, /SMTPUTF8/)
  assert.equal(mail.subject, 'Confirm your subscription to Ünïcode')
})

test('what is wrong is named, and nothing is made or sent', async () => {
  const { project, list, path } = await newList()
  const email = 'ok@example.org'
  const cases: [unknown, RegExp][] = [
    [undefined, /^email: is required/],
    [{ email: '' }, /^email: is empty/],
    [{ email: 'ann' }, /^email: has no @/],
    [{ email: 'a@b@c.example' }, /^email: has more than one @/],
    [{ email: 'Ann <ann@example.org>' }, /^email: has a name or angle brackets/],
    [{ email: 'ann@example.org\r\nRCPT TO:<x@example.org>' }, /^email: has a line break/],
    [{ email: 'ann@example.org,bob@example.org' }, /^email: /],
    [{ email: null }, /^email: must be a string/],
    [{ email, verified: 'true' }, /^verified: must be true or false/],
    [{ email, verified: null }, /^verified: must be true or false/],
    [{ email, name: 5 }, /^name: must be a string/],
    [{ email, name: 'x'.repeat(201) }, /^name: must have at most 200/],
    [{ email, tags: 'x' }, /^tags: must be an array/],
    [{ email, tags: ['ok', ''] }, /^tags\[1\]: must not be empty/],
    [{ email, tags: Array(101).fill('x') }, /^tags: must have at most 100 items/],
    [{ email, metadata: [] }, /^metadata: must be an object/],
    [{ email, metadata: { a: 'x'.repeat(17_000) } }, /^metadata: must have at most 16384 bytes/],
    [{ email, org: {} }, /^org: must be a string/],
    [{ email, job_title: true }, /^job_title: must be a string/],
  ]
  for (const [body, message] of cases) {
    const answer = await project.post(path, body)
    assert.equal(answer.status, 422, JSON.stringify(body))
    assert.equal(answer.body.error.code, 'validation_error')
    assert.match(answer.body.error.message, message)
  }
  const unknown = await project.post(`/lists/${formatId('lst', newId())}/subscribers`, { email })
  assert.equal(unknown.status, 404)
  assert.deepEqual(await project.events(), [])
  assert.deepEqual(await queuedMail(app, project), [])
  await assertCounts(app, project, list.id, {})
})

test('one address gets at most five confirmation mails a day, whatever is done to its subscriptions', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Bombs' })
  const path = `/lists/${list.id}/subscribers`
  for (let round = 0; round < 8; round++) {
    const { status, body } = await project.post(path, { email: 'victim@example.com' })
    assert.deepEqual([status, body.status], [201, 'pending'])
    await project.delete(`${path}/${body.id}`)
  }
  const sent = await app.services.database.many`select 1 from messages where project_id = ${project.id}`
  assert.equal(sent.length, 5)
})

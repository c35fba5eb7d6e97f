import assert from 'node:assert/strict'
import { test } from 'node:test'
import PostalMime from 'postal-mime'
import { startApp } from '../../../tests/support/posthaste.ts'
import { type Answer, speaking, type TestProject } from '../../../tests/support/project.ts'
import { type PeerAction, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { until } from '../../../tests/support/until.ts'
import { type EmailId, type MailboxId, newId, parseId } from '../../base/ids.ts'
import { insertToken, makeKey } from '../tokens/index.ts'
import { failInterrupted } from './fail-interrupted.ts'

/** What the peer says at the final dot, one after the other; then it behaves well. */
const atDot: PeerAction[] = []
const peer = await startSmtpPeer({ atDot: () => atDot.shift() as PeerAction })
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
const { database } = app.services

interface Sender {
  project: TestProject
  from: string
  mailbox_id: MailboxId
}

/** A project with a list, whose mailbox sends. */
async function newSender(name = 'Notes'): Promise<Sender> {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name })
  await project.events()
  return { project, from: list.mailbox_address, mailbox_id: parseId('mbx', list.mailbox_id) as MailboxId }
}

const send = (who: Pick<TestProject, 'request'>, body: object, headers: Record<string, string> = {}): Promise<Answer> =>
  who.request('POST', '/emails', { body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } })

const received = (to: string) => peer.messages.filter((message) => message.to.includes(to))
const sentBy = async (project: TestProject): Promise<number> => (await project.get('/usage')).body.emails_sent
let number = 0
const newAddress = () => `reader-${++number}@example.org`

test('a mail goes out at once, is recorded, counted and told of', async () => {
  const { project, from, mailbox_id } = await newSender('Café notes')
  const to = newAddress()
  const body = { to, from, subject: 'Grüße', text: 'Hello', html: '<p>Hello</p>', reply_to: 'me@example.net' }
  const { status, body: record } = await send(project, { ...body, tag: 'welcome', metadata: { order: '17' } })
  assert.equal(status, 201)
  assert.deepEqual(
    { ...record, id: '', provider_message_id: '', created_at: '' },
    {
      id: '',
      status: 'sent',
      from,
      to,
      subject: 'Grüße',
      provider_message_id: '',
      tag: 'welcome',
      metadata: { order: '17' },
      reason: null,
      created_at: '',
    },
  )
  assert.equal(record.provider_message_id, `${record.id}@posthaste.test`)
  const [message, ...more] = received(to)
  assert.ok(message && more.length === 0)
  const mail = await PostalMime.parse(message.raw)
  assert.deepEqual(
    [mail.from?.name, mail.from?.address, mail.subject, mail.messageId, mail.text?.trim(), mail.replyTo?.[0]?.address],
    ['Café notes', from, 'Grüße', `<${record.provider_message_id}>`, 'Hello', 'me@example.net'],
  )
  const [event, delivered, ...others] = await project.eventsWithData()
  assert.deepEqual([event?.type, event?.data.email_id, event?.data.to], ['email.sent', record.id, to])
  assert.deepEqual(
    [delivered, others],
    [{ type: 'email.delivered', data: { ...event?.data, email: { ...record, status: 'delivered' } } }, []],
  )
  assert.deepEqual(event?.data.email, record)
  assert.equal(parseId('mbx', String(event?.data.mailbox_id)), mailbox_id)
  assert.deepEqual([event?.data.tag, event?.data.metadata], ['welcome', { order: '17' }])
  assert.equal(await sentBy(project), 1)
  // Taken by a relay is delivered, until a bounce says otherwise.
  assert.deepEqual((await project.get(`/emails/${record.id}`)).body, { ...record, status: 'delivered' })
})

test('one body is enough, either of the two; none is refused', async () => {
  const { project, from } = await newSender()
  const [first, second] = [newAddress(), newAddress()]
  assert.equal((await send(project, { to: first, from, subject: 'x', text: 'only text' })).status, 201)
  assert.equal((await send(project, { to: second, from, subject: 'x', html: '<b>only html</b>' })).status, 201)
  const mail = await PostalMime.parse(received(second)[0]?.raw as Buffer)
  assert.equal(mail.html?.trim(), '<b>only html</b>')
  await project.events()
  const none = await send(project, { to: newAddress(), from, subject: 'x' })
  assert.deepEqual([none.status, none.body.error.code], [422, 'validation_error'])
  assert.deepEqual(await project.events(), [])
})

test('only an active mailbox of this project sends', async () => {
  const { project, from, mailbox_id } = await newSender()
  const stranger = await newSender()
  const attempts: [object, RegExp][] = [
    [{}, /^from: is required/],
    [{ from: 'nobody@posthaste.test' }, /^from: names no mailbox/],
    [{ from: stranger.from }, /^from: names no mailbox/],
    [{ from: 'not an address' }, /^from: /],
  ]
  for (const [more, message] of attempts) {
    const answer = await send(project, { to: newAddress(), subject: 'x', text: 'x', ...more })
    assert.equal(answer.status, 422)
    assert.match(answer.body.error.message, message)
  }
  await database.run`update mailboxes set status = 'paused' where project_id = ${project.id} and id = ${mailbox_id}`
  const paused = await send(project, { to: newAddress(), from, subject: 'x', text: 'x' })
  assert.deepEqual([paused.status, paused.body.error.message], [422, 'from: is paused; only an active mailbox sends'])
  assert.deepEqual([await project.events(), await sentBy(project)], [[], 0])
})

test('whoever is suppressed gets nothing, and nothing is counted', async () => {
  const { project, from } = await newSender()
  const to = newAddress()
  await project.post('/suppressions', { email: to })
  const answer = await send(project, { to: to.toUpperCase(), from, subject: 'x', text: 'x' })
  assert.equal(answer.status, 422)
  assert.match(answer.body.error.message, /^to: is suppressed \(manual\)/)
  assert.deepEqual([await project.events(), await sentBy(project), received(to).length], [[], 0, 0])
})

test('a mailbox’s key sends from its mailbox, said or not, and sees no other’s mail', async () => {
  const { project, from, mailbox_id } = await newSender()
  const { body: other } = await project.post('/lists', { name: 'Other' })
  const bound = await project.withKey(['read', 'send'], mailbox_id)
  for (const more of [{}, { from }, { from: from.toUpperCase() }]) {
    const { status, body } = await send(bound, { to: newAddress(), subject: 'x', text: 'x', ...more })
    assert.deepEqual([status, body.from], [201, from])
  }
  const elsewhere = await send(bound, { to: newAddress(), from: other.mailbox_address, subject: 'x', text: 'x' })
  assert.deepEqual([elsewhere.status, elsewhere.body.error.code], [403, 'forbidden'])
  const foreign = await send(project, { to: newAddress(), from: other.mailbox_address, subject: 'x', text: 'x' })
  assert.equal((await bound.get(`/emails/${foreign.body.id}`)).status, 404)
  assert.equal((await project.get(`/emails/${foreign.body.id}`)).status, 200)
})

test('an agent without the scope to send does so from the mailbox that it was given, and from no other', async () => {
  const { project, from, mailbox_id } = await newSender()
  const { body: other } = await project.post('/lists', { name: 'Other' })
  await project.events()
  const owner = await database.first<{ owner_id: never }>`select owner_id from projects where id = ${project.id}`
  const key = makeKey(false)
  const row = { project_id: project.id, user_id: owner?.owner_id as never, name: 'agent', key, mailbox_id: null, expires_at: null }
  await database.transaction((tx) => insertToken(tx, { ...row, scopes: ['read'], agent_mailbox_id: mailbox_id }))
  const agent = speaking(app.url, key)
  assert.equal((await send(agent, { to: newAddress(), subject: 'x', text: 'x' })).body.from, from)
  assert.equal((await send(agent, { to: newAddress(), from, subject: 'x', text: 'x' })).status, 201)
  await project.events()
  const elsewhere = await send(agent, { to: newAddress(), from: other.mailbox_address, subject: 'x', text: 'x' })
  assert.deepEqual([elsewhere.status, elsewhere.body.error.code], [403, 'forbidden'])
  assert.equal((await agent.post('/lists', { name: 'x' })).status, 403)
  assert.deepEqual(await project.events(), [])
})

test('the same Idempotency-Key sends once, however often and however fast it comes', async () => {
  const { project, from } = await newSender()
  const to = newAddress()
  const body = { to, from, subject: 'Once', text: 'x' }
  const all = await Promise.all(Array.from({ length: 12 }, () => send(project, body, { 'idempotency-key': 'order-1' })))
  assert.deepEqual(all.map(({ status }) => status).sort(), [...Array(11).fill(200), 201])
  assert.equal(new Set(all.map((answer) => JSON.stringify(answer.body))).size, 1)
  assert.deepEqual([received(to).length, await sentBy(project), await project.events()], [1, 1, ['email.sent', 'email.delivered']])

  const other = await send(project, { ...body, text: 'y' }, { 'idempotency-key': 'order-1' })
  assert.deepEqual([other.status, other.body.error.code], [422, 'validation_error'])
  assert.match(other.body.error.message, /^Idempotency-Key: /)
  // Somebody else's key of the same name is another key.
  const stranger = await newSender()
  assert.equal((await send(stranger.project, { ...body, from: stranger.from }, { 'idempotency-key': 'order-1' })).status, 201)

  app.clock.advance(24 * 3_600_000 + 1_000)
  assert.equal((await send(project, { ...body, text: 'y' }, { 'idempotency-key': 'order-1' })).status, 201)
})

test('a repeat answers the first record even when the same mail would be refused by now', async () => {
  const { project, from, mailbox_id } = await newSender()
  const to = newAddress()
  const first = await send(project, { to, from, subject: 'x', text: 'x' }, { 'idempotency-key': 'k' })
  await project.post('/suppressions', { email: to })
  await database.run`update mailboxes set status = 'paused' where project_id = ${project.id} and id = ${mailbox_id}`
  const again = await send(project, { to, from, subject: 'x', text: 'x' }, { 'idempotency-key': 'k' })
  assert.deepEqual([again.status, again.body], [200, first.body])
  assert.equal((await send(project, { to, from, subject: 'x', text: 'x' })).status, 422)
})

test('whoever was taken for dead and comes back with the key changes nothing', async () => {
  const { project, from } = await newSender()
  const to = newAddress()
  const body = { to, from, subject: 'Slow', text: 'x' }
  atDot.push({ delayMs: 700 })
  const slow = send(project, body, { 'idempotency-key': 'slow' })
  await until('the first to be under way', () => peer.commands.filter((line) => line.includes(to)).length > 0)
  // Somebody else took the key over, and is done.
  const holder = newId()
  await database.run`update idempotency_keys set holder = ${holder} where project_id = ${project.id}`
  assert.equal((await slow).status, 201)
  const [row] = await database.many<{ lease_until: Date | null }>`select lease_until from idempotency_keys where project_id = ${project.id}`
  assert.notEqual(row?.lease_until, null)
})

test('the same words through the keys of two mailboxes are two requests', async () => {
  const { project, mailbox_id } = await newSender()
  const { body: other } = await project.post('/lists', { name: 'Other' })
  const [one, two] = [
    await project.withKey(['send'], mailbox_id),
    await project.withKey(['send'], parseId('mbx', other.mailbox_id) as MailboxId),
  ]
  const body = { to: newAddress(), subject: 'x', text: 'x' }
  assert.equal((await send(one, body, { 'idempotency-key': 'shared' })).status, 201)
  assert.equal((await send(two, body, { 'idempotency-key': 'shared' })).status, 422)
})

test('an Idempotency-Key that is none is refused before anything happens', async () => {
  const { project, from } = await newSender()
  for (const key of ['x'.repeat(257), 'with space', 'ümlaut'.normalize()]) {
    const header = Buffer.from(key).toString('latin1')
    const answer = await send(project, { to: newAddress(), from, subject: 'x', text: 'x' }, { 'idempotency-key': header })
    assert.equal(answer.status, 422, key)
  }
  assert.deepEqual(await project.events(), [])
})

test('a server that refuses makes it 502; nothing is counted, and the same key tries again with the same Message-ID', async () => {
  const { project, from } = await newSender()
  const to = newAddress()
  const body = { to, from, subject: 'x', text: 'x' }
  for (const says of ['554 5.7.1 not today', '451 4.3.0 later', { drop: true } as const]) {
    atDot.push(says)
    const answer = await send(project, body, { 'idempotency-key': 'k' })
    assert.deepEqual([answer.status, answer.body.error.code], [502, 'provider_error'])
  }
  assert.deepEqual([await sentBy(project), await project.events()], [0, []])
  const [failed] = await database.many<{ status: string; reason: string }>`
    select status, reason from emails where project_id = ${project.id}`
  assert.equal(failed?.status, 'failed')
  const { status, body: record } = await send(project, body, { 'idempotency-key': 'k' })
  assert.deepEqual([status, record.status, await sentBy(project)], [201, 'sent', 1])
  assert.equal((await database.many`select 1 from emails where project_id = ${project.id}`).length, 1)
  assert.equal(received(to).length, 1)
  assert.deepEqual(await project.events(), ['email.sent', 'email.delivered'])
})

test('after a crash in the middle of sending, the repeat books nothing new; without one the mail is told to be in doubt', async () => {
  const { project, from } = await newSender()
  const body = { to: newAddress(), from, subject: 'x', text: 'x' }
  const { body: record } = await send(project, body, { 'idempotency-key': 'crash' })
  const id = parseId('eml', record.id) as EmailId
  // What the process that died would have left behind.
  await database.run`update emails set status = 'sending', updated_at = ${app.clock.now()} where project_id = ${project.id} and id = ${id}`
  await database.run`update idempotency_keys set lease_until = now() where project_id = ${project.id}`
  const again = await send(project, body, { 'idempotency-key': 'crash' })
  assert.deepEqual([again.status, again.body.id, await sentBy(project)], [201, record.id, 1])

  await database.run`update emails set status = 'sending', updated_at = ${app.clock.now()} where project_id = ${project.id} and id = ${id}`
  await failInterrupted.run(app.services, {})
  assert.equal((await project.get(`/emails/${record.id}`)).body.status, 'sending')
  app.clock.advance(16 * 60_000)
  await failInterrupted.run(app.services, {})
  const { body: doubtful } = await project.get(`/emails/${record.id}`)
  assert.equal(doubtful.status, 'failed')
  assert.match(doubtful.reason, /may or may not have arrived/)
})

test('an e-mail of another project, or none, is not found', async () => {
  const { project, from } = await newSender()
  const stranger = await newSender()
  const { body } = await send(project, { to: newAddress(), from, subject: 'x', text: 'x' })
  const other = await stranger.project.get(`/emails/${body.id}`)
  const never = await stranger.project.get(`/emails/${body.id.slice(0, 4)}${newId().replaceAll('-', '').slice(0, 26)}`)
  assert.deepEqual([other.status, never.status], [404, 404])
})

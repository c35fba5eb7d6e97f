import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DeliveryId, formatId } from '../server/base/ids.ts'
import { settleAccepted } from '../server/delivery/broadcast/settle.ts'
import { type EventType, eventTypes } from '../server/events/catalogue.ts'
import { dropInterest, setInterest } from '../server/events/interests.ts'
import { startApp } from './support/posthaste.ts'
import { newPost } from './support/posts.ts'
import type { TestProject } from './support/project.ts'
import { recipientsOf, type TestRecipient } from './support/recipients.ts'
import { bounceAbout, complaintAbout } from './support/reports.ts'
import { type PeerAction, type PeerCall, startSmtpPeer } from './support/smtp-peer.ts'
import { until } from './support/until.ts'

/** What becomes of each recipient, told to whoever asked for it, and to nobody else. */
let atRcpt: (call: PeerCall) => PeerAction | undefined = () => undefined
const peer = await startSmtpPeer({ atRcpt: (call) => atRcpt(call) as PeerAction })
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
const { database } = app.services

const want = (project: TestProject, ...types: EventType[]) =>
  database.transaction((tx) => setInterest(tx, { project_id: project.id, consumer: 'test', types }))

interface Sent extends Awaited<ReturnType<typeof newPost>> {
  recipients: TestRecipient[]
  first: TestRecipient
}

/** A tracked post, sent and followed: bounces have drawn their consequences. */
async function send(project: TestProject, subscribers: number, subject = 'Hello'): Promise<Sent> {
  const made = await newPost(app, { project, subscribers, body: { subject, body_html: '<p><a href="https://example.org/a">A</a></p>' } })
  await project.patch(`/lists/${made.list.id}`, { track_opens: true, track_clicks: true })
  await project.events()
  assert.equal((await project.post(`${made.path}/send`)).status, 202)
  await until('the post to be sent', async () => (await project.get(made.path)).body.status === 'sent', { withinMs: 15_000 })
  await untilFollowed(project)
  app.clock.advance(3_000)
  const recipients = await recipientsOf(app, project, made.post.id)
  return { ...made, recipients, first: recipients[0] as TestRecipient }
}
const untilFollowed = (project: TestProject) =>
  until('bounces to be followed', async () => {
    const open =
      await database.first`select 1 from deliveries where project_id = ${project.id} and status = 'bounced' and followed_at is null`
    return open === null
  })

type Told = { type: string; data: Record<string, unknown> }[]
const ofType = (told: Told, type: string) => told.filter((event) => event.type === type)
const addressesIn = (told: Told, type: string) =>
  ofType(told, type)
    .map(({ data }) => data.to as string)
    .sort()
const lists = (told: Told) => Object.fromEntries([...Map.groupBy(told, ({ type }) => type)].map(([type, some]) => [type, some.length]))

const browser = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const visit = (path: string, agent = browser) =>
  fetch(app.url + path, { redirect: 'manual', headers: { 'user-agent': agent } }).then((response) => response.arrayBuffer())
const seenIn = (project: TestProject, count: number) =>
  until(`${count} visits to be counted`, async () => {
    const row = await database.first<{ seen: number }>`
      select sum(open_count + click_count + machine_open_count)::int as seen from deliveries where project_id = ${project.id}`
    return row?.seen === count
  })

test('each event of a recipient is told once, with all that is known of the mail', async () => {
  atRcpt = ({ line }) => (line.includes('reader-2@') ? '550 5.1.1 no such user' : undefined)
  const project = await app.newProject()
  await want(project, 'email.sent', 'email.delivered', 'email.opened', 'email.clicked')
  const { list, post, first } = await send(project, 3, '$9 off')
  atRcpt = () => undefined
  const told = await project.eventsWithData()
  assert.deepEqual(lists(told), { 'post.sent': 1, 'email.sent': 2, 'email.delivered': 2, 'email.bounced': 1, 'post.delivered': 1 })
  for (const type of ['email.sent', 'email.delivered'])
    assert.deepEqual(addressesIn(told, type), ['reader-1@example.org', 'reader-3@example.org'])
  assert.deepEqual(addressesIn(told, 'email.bounced'), ['reader-2@example.org'])
  const bounce = { kind: 'hard', smtp_code: 550, enhanced_code: '5.1.1', reason: 'The mailbox does not exist' }
  assert.deepEqual(ofType(told, 'email.bounced')[0]?.data.bounce, bounce)

  const [person] = (await project.get(`/lists/${list.id}/subscribers?search=reader-1`)).body
  const [contact] = (await project.get('/contacts?search=reader-1')).body
  const expected = {
    email_id: formatId('eml', first.id),
    mailbox_id: list.mailbox_id,
    list_id: list.id,
    post_id: post.id,
    subscriber_id: person.id,
    contact_id: contact.id,
    from: list.mailbox_address,
    to: 'reader-1@example.org',
    subject: '$9 off',
    message_id: `${formatId('dlv', first.id)}@posthaste.test`,
    tag: null,
    metadata: {},
    email: null,
  }
  const ofFirst = (events: Told) => events.find(({ data }) => data.to === first.email)?.data
  assert.deepEqual(ofFirst(ofType(told, 'email.sent')), expected)
  assert.deepEqual(ofFirst(ofType(told, 'email.delivered')), expected)

  await visit(`/o/${first.tokens.open}.gif`)
  await visit(`/o/${first.tokens.open}.gif`, 'curl/8.9.1')
  await visit(`/c/${first.tokens.click}/0`)
  await visit(`/o/${first.tokens.open}.gif`)
  await seenIn(project, 4)
  const seen = await project.eventsWithData()
  assert.deepEqual(lists(seen), { 'email.opened': 2, 'email.clicked': 1 }, 'twice by a person; the machine is no event')
  assert.deepEqual(ofType(seen, 'email.opened')[0]?.data, { ...expected, is_machine: false })
  assert.deepEqual(ofType(seen, 'email.clicked')[0]?.data, { ...expected, url: 'https://example.org/a', is_machine: false })
})

test('nobody asked: only what is few is told', async () => {
  atRcpt = ({ line }) => (line.includes('reader-2@') ? '550 5.1.1 no such user' : undefined)
  const project = await app.newProject()
  const { first } = await send(project, 3)
  atRcpt = () => undefined
  await visit(`/o/${first.tokens.open}.gif`)
  await visit(`/c/${first.tokens.click}/0`)
  await seenIn(project, 2)
  assert.deepEqual((await project.events()).sort(), ['email.bounced', 'post.delivered', 'post.sent'])
})

test('of two projects that send at once, the one that wants is told, of what it wants', async () => {
  const [wanting, other] = [await app.newProject(), await app.newProject()]
  await want(wanting, 'email.delivered', 'email.clicked')
  const [one, two] = await Promise.all([send(wanting, 4), send(other, 4)])
  for (const { first } of [one, two]) {
    await visit(`/o/${first.tokens.open}.gif`)
    await visit(`/c/${first.tokens.click}/0`)
  }
  await Promise.all([seenIn(wanting, 2), seenIn(other, 2)])
  assert.deepEqual(lists(await wanting.eventsWithData()), { 'post.sent': 1, 'email.delivered': 4, 'post.delivered': 1, 'email.clicked': 1 })
  assert.deepEqual(await other.events(), ['post.sent', 'post.delivered'])
})

test('what is put off is no event; when it is delivered at last, it is one', async () => {
  let refused = 0
  atRcpt = ({ line }) => (line.includes('reader-1@') && refused++ < 2 ? '450 4.2.0 greylisted' : undefined)
  const project = await app.newProject()
  await want(project, ...eventTypes)
  const { path } = await newPost(app, { project, subscribers: 2 })
  await project.post(`${path}/send`)
  const untilTried = (attempts: number) =>
    until(
      `attempt ${attempts} to be put off`,
      async () =>
        database.first`select 1 from deliveries where project_id = ${project.id} and status = 'queued' and attempts = ${attempts}`,
    )
  await untilTried(1)
  app.clock.advance(3 * 60_000)
  await untilTried(2)
  app.clock.advance(11 * 60_000)
  await until('the end', async () => (await project.get(path)).body.status === 'sent', { withinMs: 15_000 })
  atRcpt = () => undefined
  const told = await project.eventsWithData()
  assert.deepEqual(addressesIn(told, 'email.delivered'), ['reader-1@example.org', 'reader-2@example.org'])
  assert.deepEqual(lists(told), { 'post.sent': 1, 'email.sent': 2, 'email.delivered': 2, 'post.delivered': 1 })
})

test('bounced later and complained of: one event each, wanted or not', async () => {
  const project = await app.newProject()
  const { recipients } = await send(project, 2)
  await project.events()
  const [bounced, complained] = recipients as [TestRecipient, TestRecipient]
  for (let time = 0; time < 2; time++) {
    await bounceAbout(app, { email: bounced.email, token: bounced.tokens.return_path })
    await complaintAbout(app, { token: complained.tokens.return_path })
  }
  const told = await project.eventsWithData()
  assert.deepEqual(told.map(({ type, data }) => [type, data.to ?? data.list_id]).slice(0, 2), [
    ['email.bounced', bounced.email],
    ['email.complained', complained.email],
  ])
  assert.deepEqual(lists(told), { 'email.bounced': 1, 'email.complained': 1, 'subscriber.unsubscribed': 1 })
})

test('what a process had handed over when it died is told by the next', async () => {
  const project = await app.newProject()
  await want(project, 'email.delivered')
  const { recipients } = await send(project, 2)
  assert.equal(addressesIn(await project.eventsWithData(), 'email.delivered').length, 2)
  const node_id = crypto.randomUUID()
  await database.run`
    update deliveries set status = 'sending', lease_owner = ${node_id}, next_attempt_at = now() + interval '1 day' where project_id = ${project.id}`
  const ids = recipients.map(({ id }) => id) as DeliveryId[]
  for (let time = 0; time < 2; time++) await settleAccepted(database, node_id, ids, app.clock.now())
  assert.deepEqual(addressesIn(await project.eventsWithData(), 'email.delivered'), ['reader-1@example.org', 'reader-2@example.org'])
})

test('who loses interest is told no more, within a second; a change of mind takes the place of what was before', async () => {
  const project = await app.newProject()
  const key = { project_id: project.id, consumer: 'test' }
  await want(project, 'email.sent')
  await want(project, 'email.delivered')
  await send(project, 1)
  assert.deepEqual(await project.events(), ['post.sent', 'email.delivered', 'post.delivered'])
  await database.transaction((tx) => dropInterest(tx, key))
  await until('silence', async () => {
    await send(project, 1)
    return !(await project.events()).includes('email.delivered')
  })
})

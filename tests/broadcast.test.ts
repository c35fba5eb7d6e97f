import assert from 'node:assert/strict'
import { test } from 'node:test'
import PostalMime from 'postal-mime'
import { startApp } from './support/posthaste.ts'
import { newPost } from './support/posts.ts'
import { type PeerAction, type PeerCall, startSmtpPeer } from './support/smtp-peer.ts'
import { until } from './support/until.ts'

/** A post from the press of "send" to the last recipient, through a real SMTP peer. */
let atRcpt: (call: PeerCall) => PeerAction | undefined = () => undefined
const peer = await startSmtpPeer({ atRcpt: (call) => atRcpt(call) as PeerAction })
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
const { database } = app.services

const addressees = () => peer.messages.flatMap(({ to }) => to).sort()

test('a broadcast reaches everybody once, and says so', async () => {
  const { project, path, list } = await newPost(app, {
    subscribers: 25,
    body: {
      subject: 'Hello {{ name | default: "friend" }}',
      body_html: '<p>Dear {{ first_name }}, read <a href="https://example.org/a">this</a>.</p>',
    },
  })
  const { status, body } = await project.post(`${path}/send`)
  assert.deepEqual([status, body], [202, { status: 'sending', recipients: 25 }])
  const post = await until('the post to be sent', async () => {
    const { body: seen } = await project.get(path)
    return seen.status === 'sent' ? seen : null
  })
  assert.deepEqual(post.stats, { recipients: 25, delivered: 25, opened: 0, clicked: 0, bounced: 0 })
  assert.deepEqual(addressees(), Array.from({ length: 25 }, (_, index) => `reader-${index + 1}@example.org`).sort())
  assert.deepEqual(await project.events(), ['post.sent', 'post.delivered'])
  const ledger = await database.many<{ status: string }>`select status from deliveries where project_id = ${project.id}`
  assert.deepEqual([ledger.length, new Set(ledger.map((row) => row.status))], [25, new Set(['delivered'])])

  const message = peer.messages.find(({ to }) => to.includes('reader-7@example.org'))
  const mail = await PostalMime.parse(message?.raw as Buffer)
  assert.equal(mail.subject, 'Hello Reader 7')
  assert.match(mail.html ?? '', /Dear Reader, read/)
  const header = (name: string) => mail.headers.find(({ key }) => key === name)?.value ?? ''
  assert.match(header('list-unsubscribe'), /^<https?:\/\/[^>]+\/u\/\w{52}>, <mailto:unsubscribe\+\w{52}@posthaste\.test>$/)
  assert.equal(header('list-unsubscribe-post'), 'List-Unsubscribe=One-Click')
  assert.equal(header('list-archive'), `<${app.url}/s/${list.subdomain}/archive>`)
  assert.match(message?.from ?? '', /^b\+\w{52}@posthaste\.test$/)
  assert.ok(header('list-id').includes(`<${list.subdomain}.posthaste.test>`))
  assert.equal((await project.get('/usage')).body.emails_sent, 25)
})

test('a recipient who is refused for good is a bounce, the others get theirs', async () => {
  peer.messages.length = 0
  atRcpt = ({ line }) => (line.includes('reader-2@') ? '550 5.1.1 no such user' : undefined)
  const { project, path } = await newPost(app, { subscribers: 4 })
  await project.post(`${path}/send`)
  const post = await until('the end', async () => {
    const { body } = await project.get(path)
    return body.status === 'sent' ? body : null
  })
  atRcpt = () => undefined
  assert.deepEqual([post.stats.delivered, post.stats.bounced], [3, 1])
  assert.deepEqual(addressees(), ['reader-1@example.org', 'reader-3@example.org', 'reader-4@example.org'])
})

test('put off is not given up: it goes out when it is due again', async () => {
  peer.messages.length = 0
  let refused = 0
  atRcpt = ({ line }) => (line.includes('reader-1@') && refused++ === 0 ? '450 4.2.0 greylisted' : undefined)
  const { project, path } = await newPost(app, { subscribers: 2 })
  await project.post(`${path}/send`)
  await until('the first to arrive', () => peer.messages.length === 1)
  await until(
    'the other to be put off',
    async () => database.first`select 1 from deliveries where project_id = ${project.id} and status = 'queued' and attempts = 1`,
  )
  assert.equal((await project.get(path)).body.sending, true)
  app.clock.advance(3 * 60_000)
  await until('the end', async () => (await project.get(path)).body.status === 'sent')
  assert.deepEqual(addressees(), ['reader-1@example.org', 'reader-2@example.org'])
})

test('paused, nothing more leaves; resumed, the rest does; nobody twice', async () => {
  peer.messages.length = 0
  atRcpt = () => ({ delayMs: 20 })
  const { project, path } = await newPost(app, { subscribers: 60 })
  await project.post(`${path}/send`)
  await until('some to arrive', () => peer.messages.length > 3)
  assert.equal((await project.post(`${path}/pause`)).status, 200)
  await until('quiet', async () => {
    const before = peer.messages.length
    await new Promise((resolve) => setTimeout(resolve, 400))
    return peer.messages.length === before
  })
  atRcpt = () => undefined
  assert.equal((await project.post(`${path}/resume`)).status, 200)
  await until('the end', async () => (await project.get(path)).body.status === 'sent')
  assert.deepEqual(addressees(), Array.from({ length: 60 }, (_, index) => `reader-${index + 1}@example.org`).sort())
})

test('whoever is suppressed, or leaves while their copy waits, gets nothing, and the ledger says why', async () => {
  peer.messages.length = 0
  let refused = 0
  atRcpt = ({ line }) => (line.includes('reader-3@') && refused++ === 0 ? '450 4.2.0 greylisted' : undefined)
  const { project, path, list } = await newPost(app, { subscribers: 4 })
  await project.post('/suppressions', { email: 'reader-2@example.org' })
  await project.post(`${path}/send`)
  await until(
    'one to be put off',
    async () => database.first`select 1 from deliveries where project_id = ${project.id} and status = 'queued' and attempts = 1`,
  )
  const { body: people } = await project.get(`/lists/${list.id}/subscribers?search=reader-3`)
  await project.patch(`/lists/${list.id}/subscribers/${people[0].id}`, { status: 'unsubscribed' })
  app.clock.advance(3 * 60_000)
  await until('the end', async () => (await project.get(path)).body.status === 'sent')
  assert.deepEqual(addressees(), ['reader-1@example.org', 'reader-4@example.org'])
  const failed = await database.many<{ reason: string }>`
    select smtp_code, enhanced_code, reason from deliveries where project_id = ${project.id} and status = 'failed'`
  // What an earlier attempt was told is not why they did not get it.
  const withdrawn = { smtp_code: null, enhanced_code: null, reason: 'They left the list or were suppressed before this was sent' }
  assert.deepEqual(failed, [withdrawn, withdrawn])
  await until('what was not sent to be given back', async () => (await project.get('/usage')).body.emails_sent === 2)
})

test('whoever pauses while their copy waits gets nothing, and the ledger says why', async () => {
  peer.messages.length = 0
  atRcpt = ({ line }) => (line.includes('reader-1@') ? '450 4.2.0 greylisted' : undefined)
  const { project, path } = await newPost(app, { subscribers: 2 })
  await project.post(`${path}/send`)
  await until(
    'one to be put off',
    async () => database.first`select 1 from deliveries where project_id = ${project.id} and status = 'queued' and attempts = 1`,
  )
  atRcpt = () => undefined
  const until30Days = new Date(app.clock.now().getTime() + 30 * 86_400_000)
  await database.run`update subscribers set paused_until = ${until30Days} where project_id = ${project.id} and email like 'reader-1@%'`
  app.clock.advance(3 * 60_000)
  await until('the end', async () => (await project.get(path)).body.status === 'sent')
  assert.deepEqual(addressees(), ['reader-2@example.org'])
  const failed = await database.many`
    select email, smtp_code, reason from deliveries where project_id = ${project.id} and status = 'failed'`
  assert.deepEqual(failed, [{ email: 'reader-1@example.org', smtp_code: null, reason: 'They asked for a pause before this was sent' }])
  await until('what was not sent to be given back', async () => (await project.get('/usage')).body.emails_sent === 1)
})

test('what an abort has closed does not keep the answer to an earlier attempt', async () => {
  peer.messages.length = 0
  atRcpt = ({ line }) => (line.includes('reader-1@') ? '452 4.2.2 mailbox full' : undefined)
  const { project, path } = await newPost(app, { subscribers: 2 })
  await project.post(`${path}/send`)
  const one = () => database.first<Record<string, unknown>>`
    select status, smtp_code, enhanced_code, reason from deliveries where project_id = ${project.id} and email like 'reader-1@%'`
  await until('one to be put off', async () => (await one())?.smtp_code === 452)
  assert.equal((await project.post(`${path}/abort`)).status, 200)
  const closed = await until('it to be closed', async () => {
    const row = await one()
    return row?.status === 'failed' ? row : null
  })
  const reason = 'The broadcast was aborted before this was sent'
  assert.deepEqual(closed, { status: 'failed', smtp_code: null, enhanced_code: null, reason })
  atRcpt = () => undefined
})

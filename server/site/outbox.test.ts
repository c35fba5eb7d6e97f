import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'
import { newPost } from '../../tests/support/posts.ts'
import { sendRaw } from '../../tests/support/raw-http.ts'
import { startSmtpPeer } from '../../tests/support/smtp-peer.ts'
import { until } from '../../tests/support/until.ts'
import { newId } from '../base/ids.ts'
import { storeCapturedMessage, trimCapturedMessages } from '../delivery/captured-messages.ts'

const app = await startApp()
const outbox = `${app.url}/dev/outbox`

interface Kept {
  id: string
  from: string
  to: string
  subject: string
  text: string
  html: string
  created_at: string
  return_path: string
  raw_url: string
}
const kept = async (): Promise<Kept[]> => (await (await fetch(outbox)).json()) as Kept[]

async function subscribe(email: string, name = 'News') {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name })
  await project.post(`/lists/${list.id}/subscribers`, { email })
  const mail = await until('the mail is kept', async () => (await kept()).find((one) => one.to === email))
  return { list, mail }
}

test('an outbox without mail says so', async () => {
  assert.deepEqual(await kept(), [])
  const page = await (await fetch(outbox, { headers: { accept: 'text/html' } })).text()
  assert.match(page, /Nothing has been sent yet/)
})

test('mail that would have left is shown as JSON, as a page and as it is, newest first', async () => {
  const { list, mail } = await subscribe('ann@example.org', 'Tidings')
  assert.deepEqual([mail.from, mail.subject], [list.mailbox_address, 'Confirm your subscription to Tidings'])
  assert.match(mail.return_path, /^b\+\w{52}@posthaste\.test$/)
  const link = /http\S+\/confirm\/[\w-]+/.exec(mail.text)?.[0] ?? assert.fail(mail.text)
  assert.ok(mail.html.includes(link))
  assert.equal(mail.raw_url, `/dev/outbox/${mail.id}`)

  const raw = await fetch(app.url + mail.raw_url)
  assert.match(raw.headers.get('content-type') ?? '', /^text\/plain/)
  assert.match(await raw.text(), /^Subject: Confirm your subscription to Tidings\r$/m)

  const { mail: newer } = await subscribe('bob@example.org')
  assert.deepEqual(
    (await kept()).map((one) => one.id),
    [newer.id, mail.id],
  )
  const page = await fetch(outbox, { headers: { accept: 'text/html,application/xhtml+xml' } })
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  assert.equal(page.headers.get('cache-control'), 'no-store')
  const text = await page.text()
  for (const words of ['ann@example.org', 'bob@example.org', 'Tidings', mail.raw_url]) assert.ok(text.includes(words), words)
})

test('what others typed is text on the page, never HTML', async () => {
  await subscribe('rude@example.org', '<script>alert(1)</script>')
  const page = await (await fetch(outbox, { headers: { accept: 'text/html' } })).text()
  assert.ok(!page.includes('<script>'))
  assert.ok(page.includes('&lt;script&gt;'))
})

test('a message that is not there is not found, whatever the id', async () => {
  for (const id of [
    newId(),
    'x',
    '0'.repeat(36),
    '-'.repeat(36),
    'msg_01h455vb4pex5vsknk084sn02q',
    "'%20or%201=1",
    '%00',
    '..%2f..%2fetc%2fpasswd',
  ]) {
    const response = await fetch(`${outbox}/${id}`)
    assert.equal(response.status, 404, id)
    assert.deepEqual(Object.keys((await response.json()) as object), ['error'])
  }
})

test('only this machine sees it: not through a proxy, not under a name of somebody else', async () => {
  const port = new URL(app.url).port
  const ask = (lines: string, path = '/dev/outbox') => sendRaw(app.url, `GET ${path} HTTP/1.1\r\n${lines}\r\n\r\n`)
  for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, 'localhost', `[::1]:${port}`])
    assert.equal((await ask(`Host: ${host}`)).status, 200)
  const [first] = await kept()
  const strangers = [
    'Host: evil.example',
    `Host: evil.example:${port}`,
    `Host: localhost.evil.example:${port}`,
    `Host: 127.0.0.1.nip.io:${port}`,
    `Host: localhost:${port}\r\nX-Forwarded-For: 203.0.113.7`,
    `Host: localhost:${port}\r\nX-Forwarded-For: 127.0.0.1`,
    `Host: localhost:${port}\r\nForwarded: for=203.0.113.7`,
    `Host: localhost:${port}\r\nX-Real-IP: 203.0.113.7`,
    `Host: localhost:${port}\r\nOrigin: https://evil.example`,
    `Host: localhost:${port}\r\nSec-Fetch-Site: cross-site`,
  ]
  for (const lines of strangers)
    for (const path of ['/dev/outbox', first?.raw_url ?? '']) assert.equal((await ask(lines, path)).status, 404, lines)
})

test('no other site may read it from the browser of somebody here', async () => {
  const answer = await fetch(`${app.url}/dev/outbox`)
  assert.equal(answer.headers.get('access-control-allow-origin'), null)
})

test('a thousand messages are kept, the oldest go first', async () => {
  const { database } = app.services
  const message = {
    envelope_from: 'a@example.org',
    envelope_to: 'b@example.org',
    subject: 'x',
    message: Buffer.from('Subject: x\r\n\r\nx'),
  }
  await database.run`
    insert into captured_messages (id, envelope_from, envelope_to, subject, message, created_at)
    select gen_random_uuid(), 'a@example.org', 'old-' || number || '@example.org', 'x', ${message.message}::bytea, now() - interval '1 day' - number * interval '1 second'
    from generate_series(1, 1100) as number`
  await storeCapturedMessage(database, { ...message, envelope_to: 'newest@example.org' }, new Date(Date.now() + 1_000))
  await trimCapturedMessages(database)
  const left = await database.many<{ envelope_to: string }>`select envelope_to from captured_messages order by created_at desc`
  assert.equal(left.length, 1_000)
  assert.equal(left[0]?.envelope_to, 'newest@example.org')
  assert.equal((await kept()).length, 100)
})

test('with a relay there is no outbox', async (t) => {
  const peer = await startSmtpPeer()
  t.after(() => peer.close())
  const sending = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
  t.after(() => sending.stop())
  const response = await fetch(`${sending.url}/dev/outbox`)
  assert.equal(response.status, 404)
  const home = await (await fetch(sending.url)).text()
  assert.ok(!home.includes('/dev/outbox'))
  assert.ok((await (await fetch(app.url)).text()).includes('/dev/outbox'))
})

test('a post has the subject that its reader sees', async () => {
  const { project, path } = await newPost(app, { subscribers: 1, body: { subject: 'Hello, {{ name }}', body_text: 'Hi' } })
  await project.post(`${path}/send`)
  const mail = await until('the post is kept', async () => (await kept()).find((one) => one.to === 'reader-1@example.org'))
  assert.equal(mail.subject, 'Hello, Reader 1')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { linkIn, mailTo } from '../../../tests/support/received-mail.ts'
import { startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { assertCounts, queuedMail } from '../../../tests/support/subscribers.ts'
import { parseId } from '../../base/ids.ts'
import { createSecrets } from '../../base/secrets.ts'
import { parseUuid } from '../../base/uuid.ts'

const peer = await startSmtpPeer()
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })

let number = 0
async function pendingSubscriber(name = 'News') {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name })
  const email = `reader-${++number}@example.org`
  const { body: subscriber } = await project.post(`/lists/${list.id}/subscribers`, { email })
  await project.events()
  const path = `/lists/${list.id}/subscribers/${subscriber.id}`
  const link = linkIn(await mailTo(peer, email))
  const visit = async (method: string, url = link) => {
    const response = await fetch(url, { method })
    return { status: response.status, headers: response.headers, page: await response.text() }
  }
  return { project, list, subscriber, path, email, link, visit }
}

test('looking at the link changes nothing, however often; the button confirms, once', async () => {
  const { project, list, subscriber, path, email, visit } = await pendingSubscriber()
  for (const method of ['GET', 'HEAD', 'GET']) assert.equal((await visit(method)).status, 200)
  const { page, headers } = await visit('GET')
  assert.match(page, /<form method="post"><button>/)
  assert.ok(page.includes(email) && page.includes('News'))
  assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/)
  assert.deepEqual([headers.get('referrer-policy'), headers.get('cache-control')], ['same-origin', 'no-store'])
  assert.deepEqual((await project.get(path)).body.status, 'pending')
  assert.deepEqual(await project.events(), [])
  await assertCounts(app, project, list.id, { pending: 1 })

  const before = app.clock.now()
  const done = await visit('POST')
  assert.equal(done.status, 200)
  assert.match(done.page, /You are subscribed/)
  const { body } = await project.get(path)
  assert.equal(body.status, 'active')
  assert.ok(new Date(body.subscribed_at) >= before)
  const [event, ...more] = await project.eventsWithData()
  assert.deepEqual([event?.type, event?.data.subscriber_id, more], ['subscriber.confirmed', subscriber.id, []])
  const { last_open_at: _o, last_click_at: _c, country: _l, city: _i, ...summary } = body
  assert.deepEqual(event?.data.subscriber, summary)
  await assertCounts(app, project, list.id, { active: 1 })

  for (const method of ['POST', 'GET', 'POST']) assert.match((await visit(method)).page, /You are subscribed/)
  assert.deepEqual((await project.get(path)).body, body)
  assert.deepEqual(await project.events(), [])
  await assertCounts(app, project, list.id, { active: 1 })
  assert.equal((await queuedMail(app, project)).length, 1)
})

test('twenty presses at once confirm once', async () => {
  const { project, list, visit } = await pendingSubscriber()
  const answers = await Promise.all(Array.from({ length: 20 }, () => visit('POST')))
  assert.ok(answers.every((answer) => answer.status === 200))
  assert.deepEqual(await project.events(), ['subscriber.confirmed'])
  await assertCounts(app, project, list.id, { active: 1 })
})

test('the button works as a browser sends it, and with other bodies too', async () => {
  for (const [type, body] of [
    ['application/x-www-form-urlencoded', ''],
    ['application/x-www-form-urlencoded', 'List-Unsubscribe=One-Click'],
    ['text/plain', 'x'],
  ]) {
    const { link, path, project } = await pendingSubscriber()
    const response = await fetch(link, { method: 'POST', body: body as string, headers: { 'content-type': type as string } })
    await response.text()
    if (type === 'text/plain') assert.ok(response.status < 500)
    else assert.deepEqual([response.status, (await project.get(path)).body.status], [200, 'active'])
  }
})

test('a token that is forged, cut, for another purpose or signed elsewhere is refused, and changes nothing', async () => {
  const { project, list, subscriber, path, link, visit } = await pendingSubscriber()
  const token = link.slice(link.lastIndexOf('/') + 1)
  const ids = [project.id, parseId('lst', list.id), parseId('sub', subscriber.id)] as string[]
  const { secrets } = app.services
  const payload = secrets.verify('confirm', token) as Buffer
  assert.deepEqual(payload.subarray(0, 48), Buffer.concat(ids.map(parseUuid)))
  const wrong = [
    token.slice(0, -1),
    token.slice(1),
    `${token}A`,
    (token[0] === 'A' ? 'B' : 'A') + token.slice(1),
    token.slice(0, -1) + (token.at(-1) === 'A' ? 'Q' : 'A'),
    token.toLowerCase(),
    secrets.sign('unsubscribe', payload),
    secrets.sign('confirm', payload.subarray(0, 32)),
    secrets.sign('confirm', Buffer.concat([payload, payload])),
    secrets.sign('confirm', Buffer.alloc(48)),
    secrets.sign('confirm', Buffer.concat([payload.subarray(0, 48), Buffer.alloc(8)])),
    createSecrets('another key for tests, just as long as it').sign('confirm', payload),
    Buffer.concat([Buffer.of(1), payload, Buffer.alloc(16)]).toString('base64url'),
    'x',
    '%00',
    '%F0%9F%A6%8A',
    '..%2f..%2fetc%2fpasswd',
    "'%20or%20'1'='1",
    'A'.repeat(5_000),
  ]
  for (const bad of wrong)
    for (const method of ['GET', 'POST']) {
      const { status, page } = await visit(method, `${app.url}/confirm/${bad}`)
      assert.equal(status, 404, `${method} ${bad}`)
      assert.match(page, /This link is not valid/)
    }
  assert.equal((await project.get(path)).body.status, 'pending')
  assert.deepEqual(await project.events(), [])
})

test('who has left since, or whose list is gone, is not brought back by an old link', async () => {
  const left = await pendingSubscriber()
  await left.project.patch(left.path, { status: 'unsubscribed' })
  await left.project.events()
  for (const method of ['GET', 'POST']) {
    const { status, page } = await left.visit(method)
    assert.equal(status, 410)
    assert.match(page, /has ended/)
  }
  assert.equal((await left.project.get(left.path)).body.status, 'unsubscribed')
  assert.deepEqual(await left.project.events(), [])

  const deleted = await pendingSubscriber()
  await deleted.project.delete(deleted.path)
  const gone = await pendingSubscriber()
  await gone.project.delete(`/lists/${gone.list.id}`)
  for (const { visit, project } of [deleted, gone]) {
    await project.events()
    for (const method of ['GET', 'POST']) assert.equal((await visit(method)).status, 404)
    assert.deepEqual(await project.events(), [])
  }
})

test('what others typed is text on the page, never HTML', async () => {
  const { visit } = await pendingSubscriber(`<img src=x onerror=alert(1)> & "quoted" 'name'`)
  for (const method of ['GET', 'POST']) {
    const { page } = await visit(method)
    assert.ok(!page.includes('<img'))
    assert.ok(page.includes('&lt;img src=x onerror=alert(1)&gt; &amp; &quot;quoted&quot; &#39;name&#39;'))
  }
})

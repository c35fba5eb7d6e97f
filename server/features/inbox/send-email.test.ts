import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registerAnonymous } from '../../../tests/support/agents.ts'
import { newMailbox, type TestMailbox } from '../../../tests/support/mailbox.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { type Answer, speaking } from '../../../tests/support/project.ts'
import { mailsTo, mailTo } from '../../../tests/support/received-mail.ts'
import { type PeerAction, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { type MailboxId, parseId } from '../../base/ids.ts'

/** What the peer says at the final dot, one after the other; then it behaves well. */
const atDot: PeerAction[] = []
const peer = await startSmtpPeer({ atDot: () => atDot.shift() as PeerAction })
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })

let number = 0
const newAddress = () => `outside-${++number}@example.org`
const headersOf = (raw: string | Buffer, name: string) =>
  String(raw)
    .split('\r\n\r\n')[0]
    ?.replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
    .filter((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`))
    .map((line) => line.slice(name.length + 1).trim())

const send = (box: TestMailbox, body: object, key?: string): Promise<Answer> =>
  box.project.request('POST', box.path(), {
    body: JSON.stringify({ subject: 'Hello', text_body: 'Hi there', ...body }),
    headers: { 'content-type': 'application/json', ...(key ? { 'idempotency-key': key } : {}) },
  })

test('a mail goes out from the mailbox, is shown in it, counted and told of', async () => {
  const box = await newMailbox(app)
  const to = newAddress()
  const tags = [{ name: 'channel', value: 'api' }]
  const { status, body } = await send(box, { to_address: to, subject: 'Grüße', text_body: 'Hi', html_body: '<p>Hi</p>', tags })
  assert.equal(status, 201)
  const { id, message_id, thread_id, created_at, ...rest } = body
  assert.deepEqual(rest, {
    direction: 'outbound',
    from_address: box.address,
    from_name: 'Otter',
    to_address: to,
    subject: 'Grüße',
    status: 'sent',
    tags,
    attachment_count: 0,
    in_reply_to: null,
    references: [],
    reply_to: null,
    text_body: 'Hi',
    html_body: '<p>Hi</p>',
    extracted_text: null,
    extracted_data: null,
    handler_results: null,
    verdicts: null,
    attachments: [],
    is_automatic: false,
    contact_id: null,
    reason: null,
  })
  assert.equal(thread_id.slice(4), id.slice(4), 'a thread has the id of its first mail')
  const mail = await mailTo(peer, to)
  assert.deepEqual([mail.from, mail.subject, mail.html?.trim()], [{ name: 'Otter', address: box.address }, 'Grüße', '<p>Hi</p>'])
  assert.equal(mail.messageId, `<${message_id}>`)
  assert.deepEqual(headersOf(mail.message.raw, 'References'), [])
  assert.deepEqual(await box.project.events(), ['email.sent', 'email.delivered'])
  assert.equal((await box.project.get(box.path(`/${id}`))).body.status, 'delivered')
  assert.equal((await box.project.get(`/emails/${id}`)).body.status, 'delivered')
  assert.equal((await box.project.get('/usage')).body.emails_sent, 1)
  assert.equal((await box.project.get('/mailboxes')).body[0].email_count, 1)
})

test('HTML that is empty is none', async () => {
  const box = await newMailbox(app)
  const to = newAddress()
  const { status, body } = await send(box, { to_address: to, html_body: '' })
  assert.deepEqual([status, body.text_body, body.html_body], [201, 'Hi there', null])
  const { text, html } = await mailTo(peer, to)
  assert.deepEqual([text?.trim(), html], ['Hi there', undefined])
  assert.deepEqual(await box.project.events(), ['email.sent', 'email.delivered'])
})

test('an answer names what it answers and all before it, joins the thread, and marks the mail as replied', async () => {
  const box = await newMailbox(app)
  const received = await box.receive({
    from: 'ann@example.com',
    subject: 'Question',
    message_id: 'q3@example.com',
    headers: ['References: <q1@example.com> <q2@example.com>', 'In-Reply-To: <q2@example.com>'],
  })
  const parent = (await box.project.get(box.path(`/${received}`))).body
  for (const written of ['q3@example.com', '<q3@example.com>', ' <q3@example.com> ']) {
    const to = newAddress()
    const { status, body } = await send(box, { to_address: to, in_reply_to: written })
    assert.equal(status, 201)
    assert.deepEqual(
      [body.in_reply_to, body.references, body.thread_id],
      ['q3@example.com', ['q1@example.com', 'q2@example.com', 'q3@example.com'], parent.thread_id],
    )
    const { message } = await mailTo(peer, to)
    assert.deepEqual(headersOf(message.raw, 'In-Reply-To'), ['<q3@example.com>'])
    assert.deepEqual(headersOf(message.raw, 'References'), ['<q1@example.com> <q2@example.com> <q3@example.com>'])
    assert.deepEqual(headersOf(message.raw, 'Subject'), ['Hello'], 'as it was written')
  }
  assert.equal((await box.project.get(box.path(`/${received}`))).body.status, 'replied')
})

test('a conversation goes on: an answer to our own mail, and the answer to that', async () => {
  const box = await newMailbox(app)
  const to = newAddress()
  const { body: first } = await send(box, { to_address: to, subject: 'Plan' })
  const second = await box.receive({
    from: to,
    subject: 'Re: Plan',
    message_id: 'r1@example.org',
    headers: [`In-Reply-To: <${first.message_id}>`, `References: <${first.message_id}>`],
  })
  const { body: third } = await send(box, { to_address: to, subject: 'Re: Plan', in_reply_to: 'r1@example.org' })
  const { body: fourth } = await send(box, { to_address: to, subject: 'Re: Plan', in_reply_to: third.message_id })
  assert.deepEqual(third.references, [first.message_id, 'r1@example.org'])
  assert.deepEqual(fourth.references, [first.message_id, 'r1@example.org', third.message_id])
  const threads = (await box.project.get(`/mailboxes/${box.id}/threads`)).body
  assert.deepEqual([threads.length, threads[0].count, threads[0].thread_id], [1, 4, first.thread_id])
  assert.equal((await box.project.get(box.path(`/${second}`))).body.status, 'replied')
})

test('what is not in this mailbox is named all the same, and begins a thread here', async () => {
  const box = await newMailbox(app)
  const beside = await newMailbox(app, box.project)
  await beside.receive({ message_id: 'theirs@example.com' })
  const to = newAddress()
  const { status, body } = await send(box, { to_address: to, in_reply_to: 'theirs@example.com' })
  assert.deepEqual([status, body.in_reply_to, body.references], [201, 'theirs@example.com', ['theirs@example.com']])
  assert.equal(body.thread_id.slice(4), body.id.slice(4))
  assert.deepEqual((await beside.project.get(beside.path())).body[0].status, 'received')
})

test('what is archived stays there when it is answered', async () => {
  const box = await newMailbox(app)
  const id = await box.receive({ message_id: 'away@example.com' })
  await box.project.patch(box.path(`/${id}`), { status: 'archived' })
  assert.equal((await send(box, { to_address: newAddress(), in_reply_to: 'away@example.com' })).status, 201)
  assert.equal((await box.project.get(box.path(`/${id}`))).body.status, 'archived')
})

test('the same Idempotency-Key sends once; in another mailbox it is another request', async () => {
  const box = await newMailbox(app)
  const beside = await newMailbox(app, box.project)
  const to = newAddress()
  const first = await send(box, { to_address: to }, 'once')
  const [second, third] = await Promise.all([send(box, { to_address: to }, 'once'), send(box, { to_address: to }, 'once')])
  assert.deepEqual([first.status, second.status, third.status], [201, 200, 200])
  assert.deepEqual([second.body.id, third.body.id], [first.body.id, first.body.id])
  assert.equal(mailsTo(peer, to).length, 1)
  const other = await send(beside, { to_address: to }, 'once')
  assert.deepEqual([other.status, other.body.error.code], [422, 'validation_error'])
  assert.match(other.body.error.message, /^Idempotency-Key: /)
})

test('a mail that nobody takes is 502, and stays in the mailbox as failed; its parent is not answered', async () => {
  const box = await newMailbox(app)
  const received = await box.receive({ message_id: 'unanswered@example.com' })
  await box.project.events()
  atDot.push('550 5.7.1 not from you')
  const { status, body } = await send(box, { to_address: newAddress(), in_reply_to: 'unanswered@example.com' })
  assert.deepEqual([status, body.error.code], [502, 'provider_error'])
  const { body: failed } = await box.project.get(box.path('?status=failed'))
  assert.deepEqual([failed.length, failed[0].direction], [1, 'outbound'])
  assert.match((await box.project.get(box.path(`/${failed[0].id}`))).body.reason, /refused the message by its policy/)
  assert.equal((await box.project.get(box.path(`/${received}`))).body.status, 'received')
  assert.deepEqual(await box.project.events(), [])
  assert.equal((await box.project.get('/usage')).body.emails_sent, 0)
  assert.deepEqual((await box.project.get(`/mailboxes/${box.id}/threads`)).body[0].count, 1)
})

test('refusals send nothing, and name the field', async () => {
  const box = await newMailbox(app)
  const suppressed = newAddress()
  await box.project.post('/suppressions', { email: suppressed })
  await box.project.events()
  const good = { to_address: newAddress() }
  const refused: [object, RegExp][] = [
    [{ to_address: suppressed }, /^to_address: is suppressed/],
    [{ to_address: 'nobody' }, /^to_address: /],
    [{ ...good, subject: '' }, /^subject: /],
    [{ ...good, subject: 'a\nb' }, /^subject: /],
    [{ ...good, text_body: '' }, /^text_body: /],
    [{ ...good, text_body: undefined }, /^text_body: is required/],
    [{ ...good, in_reply_to: 'a b@example.com' }, /^in_reply_to: must be a Message-ID/],
    [{ ...good, in_reply_to: '<a>\r\nBcc: x@example.com' }, /^in_reply_to: /],
    [{ ...good, tags: [{ name: 'a' }] }, /^tags\[0\]\.value: is required/],
    [{ ...good, tags: [{ name: 'a'.repeat(257), value: 'b' }] }, /^tags\[0\]\.name: /],
    [{ ...good, tags: Array(51).fill({ name: 'a', value: 'b' }) }, /^tags: must have at most 50/],
  ]
  for (const [body, message] of refused) {
    const answer = await send(box, body)
    assert.deepEqual([answer.status, answer.body.error.code], [422, 'validation_error'], JSON.stringify(body))
    assert.match(answer.body.error.message, message)
  }
  assert.deepEqual(await box.project.events(), [])
  assert.deepEqual((await box.project.get(box.path())).body, [])
})

test('only an active mailbox sends, and one whose end has come does not, whichever way is tried', async () => {
  const project = await app.newProject()
  const tries = async (box: TestMailbox) => [
    await send(box, { to_address: newAddress() }),
    await project.post('/emails', { from: box.address, to: newAddress(), subject: 'x', text: 'x' }),
  ]
  const paused = await newMailbox(app, project)
  await project.patch(`/mailboxes/${paused.id}`, { status: 'paused' })
  const expired = await newMailbox(app, project)
  await project.patch(`/mailboxes/${expired.id}`, { expires_at: new Date(app.clock.now().getTime() + 1_000).toISOString() })
  app.clock.advance(2_000)
  await project.events()
  for (const [box, word] of [
    [paused, 'paused'],
    [expired, 'expired'],
  ] as const)
    for (const { status, body } of await tries(box)) {
      assert.deepEqual([status, body.error.code], [422, 'validation_error'])
      assert.match(body.error.message, new RegExp(`^(mailbox|from): is ${word}`))
    }
  assert.deepEqual(await project.events(), [])
})

test('a mailbox’s key sends from it and from no other; so does an agent without the scope to send', async () => {
  const box = await newMailbox(app)
  const beside = await newMailbox(app, box.project)
  const bound = await box.project.withKey(['send'], parseId('mbx', box.id) as MailboxId)
  const mail = { to_address: newAddress(), subject: 'x', text_body: 'x' }
  assert.equal((await bound.post(box.path(), mail)).status, 201)
  assert.deepEqual([(await bound.post(beside.path(), mail)).status], [403])

  const agent = await registerAnonymous(app)
  const asAgent = speaking(app.url, agent.credential)
  const { body: own } = await asAgent.get('/mailboxes')
  const sent = await asAgent.post(`/mailboxes/${own[0].id}/emails`, { ...mail, to_address: newAddress() })
  assert.equal(sent.status, 201, JSON.stringify(sent.body))
  assert.equal((await asAgent.post(box.path(), mail)).status, 404)
})

test('without room in the plan it is 402, and nothing leaves', async () => {
  const box = await newMailbox(app)
  await box.project.setPlan('free')
  const { database } = app.services
  for (let count = 0; count < 100; count++) {
    const { status } = await send(box, { to_address: newAddress() })
    if (status === 402) break
    assert.equal(status, 201)
  }
  await box.project.events()
  const to = newAddress()
  const { status, body } = await send(box, { to_address: to })
  assert.deepEqual([status, body.error.code], [402, 'limit_exceeded'])
  assert.deepEqual([mailsTo(peer, to).length, await box.project.events()], [0, []])
  assert.equal((await database.many`select 1 from emails where project_id = ${box.project.id} and to_address = ${to}`).length, 0)
})

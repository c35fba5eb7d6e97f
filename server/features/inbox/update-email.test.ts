import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newMailbox } from '../../../tests/support/mailbox.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { type MailboxId, parseId } from '../../base/ids.ts'

const app = await startApp()

test('one e-mail shows all that was read out of it, and looking changes nothing', async () => {
  const box = await newMailbox(app)
  const id = await box.receive({
    from: 'Harbor <codes@harbor.example>',
    subject: 'Your code',
    message_id: 'one@harbor.example',
    headers: ['In-Reply-To: <zero@harbor.example>', 'References: <zero@harbor.example>', 'Reply-To: help@harbor.example'],
    text: 'Your sign-in code is 482913.',
  })
  await box.project.events()
  const { status, body } = await box.project.get(box.path(`/${id}`))
  assert.equal(status, 200)
  const { created_at, thread_id, verdicts, text_body, extracted_text, contact_id, ...rest } = body
  assert.deepEqual(rest, {
    id,
    direction: 'inbound',
    from_address: 'codes@harbor.example',
    from_name: 'Harbor',
    to_address: box.address,
    subject: 'Your code',
    status: 'received',
    tags: null,
    attachment_count: 0,
    message_id: 'one@harbor.example',
    in_reply_to: 'zero@harbor.example',
    references: ['zero@harbor.example'],
    reply_to: 'help@harbor.example',
    html_body: null,
    extracted_data: { kind: 'sign_in', code: '482913' },
    handler_results: null,
    attachments: [],
    is_automatic: false,
    reason: null,
  })
  assert.equal(text_body.trim(), 'Your sign-in code is 482913.')
  assert.equal(extracted_text.trim(), 'Your sign-in code is 482913.')
  assert.match(thread_id, /^thr_/)
  assert.match(contact_id, /^con_/)
  assert.equal(verdicts.dmarc.result, 'none')
  assert.ok(created_at)
  assert.deepEqual((await box.project.get(box.path(`/${id}`))).body, body)
  assert.deepEqual(await box.project.events(), [])
})

test('received mail is read, archived and taken out of the archive; no event tells of it', async () => {
  const box = await newMailbox(app)
  const id = await box.receive()
  await box.project.events()
  const mark = async (status: string) => {
    const answer = await box.project.patch(box.path(`/${id}`), { status })
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.body, (await box.project.get(box.path(`/${id}`))).body)
    return answer.body.status
  }
  assert.deepEqual(
    [await mark('read'), await mark('read'), await mark('archived'), await mark('archived'), await mark('read')],
    ['read', 'read', 'archived', 'archived', 'read'],
  )
  for (const status of ['received', 'replied', 'failed', 'sent', '', null, 1]) {
    const { status: code, body } = await box.project.patch(box.path(`/${id}`), { status })
    assert.deepEqual([code, body.error.code, body.error.message], [422, 'validation_error', 'status: must be one of read, archived'])
  }
  assert.deepEqual(await box.project.events(), [])
})

test('what was answered stays so when it is read, and can be archived', async () => {
  const box = await newMailbox(app)
  const id = await box.receive({ message_id: 'q@example.com' })
  await box.project.post(box.path(), { to_address: 'ann@example.com', subject: 'Re', text_body: 'x', in_reply_to: 'q@example.com' })
  const mark = async (status: string) => (await box.project.patch(box.path(`/${id}`), { status })).body.status
  assert.deepEqual([await mark('read'), await mark('archived')], ['replied', 'archived'])
})

test('a mail that was sent can be put away; what became of it is still told', async () => {
  const box = await newMailbox(app)
  const { body: sent } = await box.project.post(box.path(), { to_address: 'ben@example.org', subject: 'Out', text_body: 'x' })
  const archived = await box.project.patch(box.path(`/${sent.id}`), { status: 'archived' })
  assert.deepEqual([archived.status, archived.body.status], [200, 'archived'])
  assert.equal((await box.project.get(`/emails/${sent.id}`)).body.status, 'delivered')
  assert.deepEqual((await box.project.get(box.path('?status=archived'))).body.length, 1)
  assert.deepEqual((await box.project.get(box.path('?status=delivered'))).body, [])
})

test('an e-mail is found in its own mailbox only, and a received one not below /emails', async () => {
  const box = await newMailbox(app)
  const beside = await newMailbox(app, box.project)
  const id = await box.receive()
  const bound = await box.project.withKey(['read', 'write'], parseId('mbx', beside.id) as MailboxId)
  await box.project.events()
  for (const ask of [box.project.get, (path: string) => box.project.patch(path, { status: 'read' })])
    assert.equal((await ask(beside.path(`/${id}`))).status, 404)
  assert.equal((await box.project.get(`/emails/${id}`)).status, 404)
  for (const ask of [bound.get, (path: string) => bound.patch(path, { status: 'read' })])
    assert.equal((await ask(box.path(`/${id}`))).status, 403)
  assert.equal((await box.project.get(box.path(`/${id}`))).body.status, 'received')
  assert.deepEqual(await box.project.events(), [])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newMailbox } from '../../../tests/support/mailbox.ts'
import { startApp } from '../../../tests/support/posthaste.ts'

const app = await startApp()

test('conversations come by their newest mail, with who is in them and what is unread', async () => {
  const box = await newMailbox(app)
  const reply = (id: string) => [`In-Reply-To: <${id}>`, `References: <${id}>`]
  const first = await box.receive({ from: 'ann@example.com', subject: 'Plan', message_id: 'a1@example.com' })
  await box.receive({ from: 'ben@example.com', subject: 'Other', message_id: 'b1@example.com' })
  await box.receive({ from: 'cat@example.com', subject: 'Re: Plan', message_id: 'a2@example.com', headers: reply('a1@example.com') })
  await box.project.patch(box.path(`/${first}`), { status: 'read' })
  await box.project.events()

  const { status, body } = await box.project.get(`/mailboxes/${box.id}/threads`)
  assert.equal(status, 200)
  const [newest] = (await box.project.get(box.path('?limit=1'))).body
  assert.deepEqual(body[0], {
    thread_id: newest.thread_id,
    subject: 'Plan',
    participants: body[0].participants,
    count: 2,
    unread: 1,
    last_email_id: newest.id,
    last_at: newest.created_at,
  })
  assert.deepEqual([...body[0].participants].sort(), ['ann@example.com', box.address, 'cat@example.com'].sort())
  assert.deepEqual([body[1].subject, body[1].count, body[1].unread], ['Other', 1, 1])
  assert.equal(body.length, 2)

  const page = await box.project.get(`/mailboxes/${box.id}/threads?limit=1`)
  const next = /<[^>]*\/v1([^>]*)>/.exec(page.headers.get('link') ?? '')?.[1] as string
  const rest = await box.project.get(next)
  assert.deepEqual([page.body[0].subject, rest.body[0].subject, rest.headers.get('link')], ['Plan', 'Other', null])
  assert.deepEqual(await box.project.events(), [])
})

test('an empty mailbox has none', async () => {
  const box = await newMailbox(app)
  assert.deepEqual((await box.project.get(`/mailboxes/${box.id}/threads`)).body, [])
})

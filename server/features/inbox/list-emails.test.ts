import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newMailbox } from '../../../tests/support/mailbox.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { Answer } from '../../../tests/support/project.ts'
import { type MailboxId, newId, parseId } from '../../base/ids.ts'

const app = await startApp()

const subjects = ({ body }: Answer) => body.map((email: { subject: string }) => email.subject)
const nextOf = ({ headers }: Answer) => /<[^>]*\/v1([^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? ''

test('what came in and went out is one list, newest first', async () => {
  const box = await newMailbox(app)
  const received = await box.receive({ from: 'Ann Lee <ann@example.com>', subject: 'First', text: 'Hello' })
  const sent = await box.project.post('/emails', { from: box.address, to: 'ben@example.org', subject: 'Second', text: 'Hi' })
  await box.project.events()

  const { status, body } = await box.project.get(box.path())
  assert.equal(status, 200)
  assert.deepEqual(
    body.map(({ created_at, thread_id, ...rest }: Record<string, unknown>) => rest),
    [
      {
        id: sent.body.id,
        direction: 'outbound',
        from_address: box.address,
        from_name: 'Otter',
        to_address: 'ben@example.org',
        subject: 'Second',
        status: 'delivered',
        tags: null,
        attachment_count: 0,
      },
      {
        id: received,
        direction: 'inbound',
        from_address: 'ann@example.com',
        from_name: 'Ann Lee',
        to_address: box.address,
        subject: 'First',
        status: 'received',
        tags: null,
        attachment_count: 0,
      },
    ],
  )
  const [, { thread_id, created_at }] = body
  assert.match(thread_id, /^thr_/)
  assert.match(created_at, /^\d{4}-.*Z$/)
  assert.deepEqual(await box.project.events(), [])
  const { body: mailbox } = await box.project.get('/mailboxes')
  assert.equal(mailbox[0].email_count, 2)
})

test('filters narrow it, alone and together', async () => {
  const box = await newMailbox(app)
  const [one] = [await box.receive({ subject: 'One' }), await box.receive({ subject: 'Two' })]
  const send = (subject: string, tags?: object[]) =>
    box.project.post(box.path(), { to_address: 'ben@example.org', subject, text_body: 'x', tags })
  await send('Three', [
    { name: 'channel', value: 'api' },
    { name: 'run', value: '7' },
  ])
  await send('Four', [
    { name: 'channel', value: 'web' },
    { name: 'run', value: '' },
  ])
  await box.project.patch(box.path(`/${one}`), { status: 'read' })
  const expected: Record<string, string[]> = {
    'direction=inbound': ['Two', 'One'],
    'direction=outbound': ['Four', 'Three'],
    'status=received': ['Two'],
    'status=read': ['One'],
    'status=failed': [],
    'status=delivered': ['Four', 'Three'],
    'tag_name=channel&tag_value=api': ['Three'],
    'tag_name=channel&tag_value=7': [],
    'tag_name=run&tag_value=7&direction=outbound': ['Three'],
    'tag_name=run&tag_value=7&direction=inbound': [],
    'tag_name=run&tag_value=': ['Four'],
  }
  for (const [query, wanted] of Object.entries(expected))
    assert.deepEqual(subjects(await box.project.get(box.path(`?${query}`))), wanted, query)
  for (const query of ['tag_name=channel', 'tag_value=api', 'direction=sideways', 'status=unread', 'thread_id=thr_x']) {
    const { status, body } = await box.project.get(box.path(`?${query}`))
    assert.deepEqual([status, body.error.code], [422, 'validation_error'], query)
  }
  const { body: threads } = await box.project.get(`/mailboxes/${box.id}/threads`)
  const about = threads.find(({ subject }: { subject: string }) => subject === 'Two')
  assert.deepEqual(subjects(await box.project.get(box.path(`?thread_id=${about.thread_id}`))), ['Two'])
})

test('pages hold as many as asked for, and every mail comes once', async () => {
  const box = await newMailbox(app)
  for (const subject of ['1', '2', '3', '4', '5']) await box.receive({ subject })
  const first = await box.project.get(box.path('?limit=2&direction=inbound'))
  const second = await box.project.get(nextOf(first))
  const third = await box.project.get(nextOf(second))
  assert.deepEqual([first, second, third].map(subjects), [['5', '4'], ['3', '2'], ['1']])
  assert.equal(third.headers.get('link'), null)
})

test('a search finds words in subject, sender, recipient and text, in any case', async () => {
  const box = await newMailbox(app)
  await box.receive({ subject: 'Your Invoice', from: 'Ann <billing@harbor.example>', text: 'The total is due.' })
  await box.receive({ subject: 'Lunch', from: 'Ben <ben@example.com>', text: 'Grüße aus München, see the Harbour-side café.' })
  await box.receive({ subject: '認証コード', from: 'Ken <ken@example.jp>', text: '確認コードは482913です。' })
  const expected: Record<string, string[]> = {
    invoice: ['Your Invoice'],
    INVOI: ['Your Invoice'],
    'billing@harbor': ['Your Invoice'],
    'harbor.example': ['Your Invoice'],
    harbo: ['Lunch', 'Your Invoice'],
    証コ: ['認証コード'],
    コード482913: [],
    '482913': ['認証コード'],
    '100%': [],
    'total due': ['Your Invoice'],
    münchen: ['Lunch'],
    'ben lunch': ['Lunch'],
    zebra: [],
    '   ': ['認証コード', 'Lunch', 'Your Invoice'],
    "o'clock & | ! <-> :* \\ %": [],
  }
  for (const [search, wanted] of Object.entries(expected))
    assert.deepEqual(subjects(await box.project.get(box.path(`?search=${encodeURIComponent(search)}`))), wanted, search)
})

test('a search goes through a large mailbox a stretch at a time, and comes to the end', async () => {
  const box = await newMailbox(app)
  await box.receive({ subject: 'Needle' })
  await app.services.database.run`
    insert into emails (project_id, id, mailbox_id, direction, status, from_address, to_address, to_key, subject, thread_id, created_at, updated_at)
    select ${box.project.id}, id, ${parseId('mbx', box.id)}, 'inbound', 'received', 'a@example.com', 'b@example.com', 'b@example.com', 'Hay', id, now(), now()
    from unnest(${Array.from({ length: 10_000 }, () => newId())}::uuid[]) as id`
  const first = await box.project.get(box.path('?search=needle'))
  assert.deepEqual([first.status, first.body], [200, []])
  const second = await box.project.get(nextOf(first))
  assert.deepEqual([subjects(second), second.headers.get('link')], [['Needle'], null])
  const full = await box.project.get(box.path('?search=hay&limit=2'))
  assert.deepEqual(
    [subjects(full), subjects(await box.project.get(nextOf(full)))],
    [
      ['Hay', 'Hay'],
      ['Hay', 'Hay'],
    ],
  )
})

test('a key of one mailbox sees that one', async () => {
  const box = await newMailbox(app)
  const other = await newMailbox(app, box.project)
  const bound = await box.project.withKey(['read'], parseId('mbx', box.id) as MailboxId)
  assert.equal((await bound.get(box.path())).status, 200)
  for (const path of [other.path(), other.path('?wait=1'), other.path('/stream'), `/mailboxes/${other.id}/threads`]) {
    const { status, body } = await bound.get(path)
    assert.deepEqual([status, body.error.code], [403, 'forbidden'], path)
  }
})

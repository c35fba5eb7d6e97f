import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newPost } from '../../../tests/support/posts.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { enqueueMessage } from '../../delivery/enqueue.ts'

const app = await startApp()
const { database } = app.services

const settled = (project: TestProject, path: string, count: number) =>
  until('all mail is delivered', async () => {
    const { body } = await project.get(path)
    return body.length === count && body.every((email: { status: string }) => email.status === 'delivered') ? body : null
  })

const notice = (to: string) => ({
  from: { name: null, address: 'us@posthaste.test' },
  to,
  reply_to: null,
  subject: 'A notice',
  text: 'Hello',
  html: null,
  headers: {},
})

test('mail to a person, newest first, however the address was written', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'News' })
  await project.post(`/lists/${list.id}/subscribers`, { email: 'Ann@bücher.example' })
  await project.post(`/lists/${list.id}/subscribers`, { email: 'bo@example.com' })
  await project.events()
  const contacts: { id: string; email: string }[] = (await project.get('/contacts?sort=email')).body
  const path = `/contacts/${contacts[0]?.id}/emails`
  await settled(project, path, 1)
  await database.transaction((tx) =>
    enqueueMessage(tx, { project_id: project.id, kind: 'notice', mail: notice('ann@xn--bcher-kva.example') }),
  )
  const body = await settled(project, path, 2)
  for (const email of body) {
    assert.match(email.id, /^msg_[0-9a-z]{26}$/)
    assert.match(email.sent_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  }
  const same = { id: 0, post_id: null, sent_at: 0, status: 'delivered', open_count: 0, click_count: 0 }
  assert.deepEqual(
    body.map((email: object) => ({ ...email, id: 0, sent_at: 0 })),
    [
      { ...same, subject: 'A notice', list_name: '', list_id: null },
      { ...same, subject: 'Confirm your subscription to News', list_name: 'News', list_id: list.id },
    ],
  )
  await project.delete(`/lists/${list.id}`)
  assert.deepEqual((await project.get(path)).body, body)
  const stranger = await (await app.newProject()).get(path)
  assert.equal(stranger.status, 404)
  assert.equal(stranger.body.error.code, 'not_found')
  assert.deepEqual(await project.events(), ['mailbox.deleted', 'list.deleted'])
})

test('mail of another project to the same address is not shown, and somebody without an address has none', async () => {
  const [project, other] = [await app.newProject(), await app.newProject()]
  const { body: list } = await project.post('/lists', { name: 'News' })
  await project.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.com', verified: true })
  await database.transaction((tx) => enqueueMessage(tx, { project_id: other.id, kind: 'notice', mail: notice('ann@example.com') }))
  const [{ id }] = (await project.get('/contacts')).body
  const empty = await project.get(`/contacts/${id}/emails`)
  assert.equal(empty.status, 200)
  assert.deepEqual(empty.body, [])
  await database.run`update contacts set email = null, email_key = null where project_id = ${project.id}`
  assert.deepEqual((await project.get(`/contacts/${id}/emails`)).body, [])
  const refused = await project.get(`/contacts/${id}/emails?cursor=made-up`)
  assert.equal(refused.status, 422)
  assert.match(refused.body.error.message, /^cursor: /)
})

test('a mail on its way tells when it was queued', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'News' })
  await project.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.com', verified: true })
  const [{ id }] = (await project.get('/contacts')).body
  const later = new Date(app.clock.now().getTime() + 3_600_000)
  await database.transaction(async (tx) => {
    await enqueueMessage(tx, { project_id: project.id, kind: 'notice', mail: notice('ann@example.com') })
    await tx.run`update messages set next_attempt_at = ${later} where project_id = ${project.id}`
  })
  const queued = await database.first<{ created_at: Date }>`select created_at from messages where project_id = ${project.id}`
  const [email] = (await project.get(`/contacts/${id}/emails`)).body
  assert.deepEqual([email.status, email.sent_at], ['queued', queued?.created_at.toISOString()])
})

test('beyond a thousand mails a link leads on', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'News' })
  await project.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.com', verified: true })
  const [{ id }] = (await project.get('/contacts')).body
  await database.run`
    insert into messages (project_id, id, kind, recipient, recipient_key, mail, status, settled_at)
    select ${project.id}, gen_random_uuid(), 'notice', 'ann@example.com', 'ann@example.com', '{"subject": "Hi"}', 'bounced', now()
    from generate_series(1, 1001)`
  const first = await project.get(`/contacts/${id}/emails`)
  const next = new URL(/^<(.*)>; rel="next"$/.exec(first.headers.get('link') as string)?.[1] as string)
  const second = await project.get(`${next.pathname}${next.search}`)
  assert.equal(second.headers.get('link'), null)
  assert.equal(new Set([...first.body, ...second.body].map((row) => row.id)).size, 1001)
  assert.equal(first.body[0].status, 'bounced')
})

test('posts stand among the letters, newest first, with what became of them', async () => {
  const { project, list, post, path } = await newPost(app, { subscribers: 2 })
  const contacts: { id: string; email: string }[] = (await project.get('/contacts?sort=email')).body
  const emails = `/contacts/${contacts[0]?.id}/emails`
  const enqueue = () =>
    database.transaction((tx) => enqueueMessage(tx, { project_id: project.id, kind: 'notice', mail: notice('reader-1@example.org') }))
  await enqueue()
  await project.post(`${path}/send`)
  await until('the end', async () => (await project.get(path)).body.status === 'sent')
  await enqueue()
  const body = await settled(project, emails, 3)
  assert.deepEqual(
    body.map(({ id, post_id, subject, list_name, list_id, status }: Record<string, string>) => [
      id?.slice(0, 3),
      post_id,
      subject,
      list_name,
      list_id,
      status,
    ]),
    [
      ['msg', null, 'A notice', '', null, 'delivered'],
      ['dlv', post.id, 'Hello', 'News', list.id, 'delivered'],
      ['msg', null, 'A notice', '', null, 'delivered'],
    ],
  )
  await database.run`update deliveries set status = 'complained', open_count = 3, click_count = 2 where project_id = ${project.id}`
  const shown = (await project.get(emails)).body[1]
  assert.deepEqual([shown.status, shown.open_count, shown.click_count], ['complained', 3, 2])
  assert.equal(shown.id, (await project.get(`${path}/deliveries`)).body[0].id)
})

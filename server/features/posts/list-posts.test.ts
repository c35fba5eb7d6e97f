import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { addPostInFlight, newList } from '../../../tests/support/posts.ts'
import { parseId } from '../../base/ids.ts'

const app = await startApp()
const { database } = app.services

test('the posts of a list come newest first, as summaries without their bodies', async () => {
  const { project, list, path } = await newList(app)
  assert.deepEqual((await project.get(path)).body, [])
  const first = (await project.post(path, { subject: 'First', body_html: '<p>Hi</p>' })).body
  const second = (await project.post(path, { subject: 'Second' })).body
  const flying = await addPostInFlight(database, { project_id: project.id, listId: list.id, status: 'paused' })
  await project.events()
  const { status, headers, body } = await project.get(path)
  assert.equal(status, 200)
  assert.equal(headers.get('link'), null)
  const summary = (post: typeof first) => ({
    id: post.id,
    subject: post.subject,
    status: 'draft',
    source: 'api',
    needs_approval: false,
    sending: false,
    created_at: post.created_at,
    sent_at: null,
    scheduled_at: null,
    recipients: null,
  })
  assert.deepEqual(body.slice(1), [summary(second), summary(first)])
  assert.deepEqual([body[0].id, body[0].sending, body[0].recipients, body[0].status], [flying, true, 3, 'draft'])
  assert.deepEqual(await project.events(), [])
})

test('?status= shows those alone, and what is no status is refused', async () => {
  const { project, path } = await newList(app)
  const { body: post } = await project.post(path, { subject: 'Later', body_text: 'Hi' })
  await project.post(path, { subject: 'Draft' })
  await project.post(`${path}/${post.id}/schedule`, { scheduled_at: '2099-01-01T00:00:00Z' })
  await project.events()
  const subjects = async (status: string) =>
    (await project.get(`${path}?status=${status}`)).body.map((one: { subject: string }) => one.subject)
  assert.deepEqual(await subjects('scheduled'), ['Later'])
  assert.deepEqual(await subjects('draft'), ['Draft'])
  assert.deepEqual(await subjects('sent'), [])
  const refused = await project.get(`${path}?status=flying`)
  assert.equal(refused.status, 422)
  assert.match(refused.body.error.message, /^status: must be one of draft, scheduled/)
  assert.deepEqual(await project.events(), [])
})

test('past a thousand posts a Link header goes on, and every post comes once', async () => {
  const { project, list, path } = await newList(app)
  await database.run`
    insert into posts (project_id, list_id, id, subject, created_at, updated_at)
    select ${project.id}, ${parseId('lst', list.id)}, gen_random_uuid(), 'Post ' || number, now(), now() from generate_series(1, 1002) as number`
  const first = await project.get(`${path}?status=draft`)
  assert.equal(first.body.length, 1000)
  const link = first.headers.get('link') ?? ''
  const next = /^<(.*)>; rel="next"$/.exec(link)?.[1] ?? assert.fail(`no next page in ${link}`)
  const second = await project.get(next.slice(app.url.length))
  assert.equal(second.headers.get('link'), null)
  const ids = [...first.body, ...second.body].map((post: { id: string }) => post.id)
  assert.equal(new Set(ids).size, 1002)
  assert.deepEqual(ids, [...ids].sort().reverse())
})

test('the view of all lists tells what waits on each, and when it was last sent to', async () => {
  const { project, list, path } = await newList(app)
  const { list: other } = await newList(app, { project })
  const { body: post } = await project.post(path, { subject: 'Later', body_text: 'Hi' })
  await project.post(`${path}/${post.id}/schedule`, { scheduled_at: '2099-01-01T00:00:00Z' })
  for (const subject of ['One', 'Two']) await project.post(path, { subject })
  await database.run`update posts set needs_approval = true where project_id = ${project.id} and subject = 'Two'`
  await addPostInFlight(database, { project_id: project.id, listId: list.id, status: 'sending' })
  await addPostInFlight(database, { project_id: project.id, listId: list.id, status: 'paused' })
  const done = await addPostInFlight(database, { project_id: project.id, listId: list.id, status: 'paused' })
  assert.equal((await project.post(`${path}/${done}/abort`)).status, 200)
  const { body: aborted } = await project.get(`${path}/${done}`)
  const lists = (await project.get('/lists')).body as { id: string; signals: object; last_sent_at: string | null }[]
  const seen = (id: string) => {
    const found = lists.find((one) => one.id === id)
    return { signals: found?.signals, last_sent_at: found?.last_sent_at }
  }
  assert.deepEqual(seen(list.id), { signals: { to_approve: 1, scheduled: 1, drafts: 2, sending: 2 }, last_sent_at: aborted.sent_at })
  assert.deepEqual(seen(other.id), { signals: { to_approve: 0, scheduled: 0, drafts: 0, sending: 0 }, last_sent_at: null })
})

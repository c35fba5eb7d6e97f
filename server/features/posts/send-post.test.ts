import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registerAnonymous } from '../../../tests/support/agents.ts'
import { credentialFor, useUp } from '../../../tests/support/payable.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { addPostInFlight, broadcastOf, newPost, postData } from '../../../tests/support/posts.ts'
import { speaking, type TestProject } from '../../../tests/support/project.ts'
import { parseId } from '../../base/ids.ts'

/** Without a sender: what is on its way stays there. */
const app = await startApp({ ROLES: 'http,consumers' })
const { database } = app.services

const sentBy = async (project: TestProject): Promise<number> => (await project.get('/usage')).body.emails_sent
const broadcasts = async (project: TestProject): Promise<number> =>
  (await database.first<{ count: number }>`select count(*) from broadcasts where project_id = ${project.id}`)?.count ?? 0
const send = (project: TestProject, path: string, headers: Record<string, string> = {}) =>
  project.request('POST', `${path}/send`, { headers })

test('a draft is on its way with the words, the sender and the people of this moment', async () => {
  const { project, list, post, path } = await newPost(app, { subscribers: 2, body: { preview_text: 'Look' } })
  await project.post(`/lists/${list.id}/subscribers`, { email: 'pending@example.org' })
  await project.patch(`/lists/${list.id}`, { track_clicks: true, postal_address: '1 High Street' })
  await project.events()
  const { status, body } = await send(project, path)
  assert.equal(status, 202)
  assert.deepEqual(body, { status: 'sending', recipients: 2 })
  assert.deepEqual(await project.eventsWithData(), [{ type: 'post.sent', data: await postData(project, list, post) }])
  assert.equal(await sentBy(project), 2)

  const broadcast = await broadcastOf(app, project, post.id)
  assert.deepEqual([broadcast?.status, broadcast?.recipients], ['sending', 2])
  assert.deepEqual(broadcast?.source.post, { subject: 'Hello', preview_text: 'Look', html: '<p>Hi</p>', text: null, markdown: null })
  const { date, ...frame } = broadcast?.source.frame ?? {}
  assert.ok(Date.parse(String(date)))
  assert.deepEqual(frame, {
    from: { name: 'News', address: list.mailbox_address },
    reply_to: list.mailbox_address,
    list: {
      name: 'News',
      id_host: `${list.subdomain}.posthaste.test`,
      help_url: null,
      archive_url: `${app.url}/s/${list.subdomain}/archive`,
    },
    postal_address: '1 High Street',
    track_opens: false,
    track_clicks: true,
    urls: {
      unsubscribe: `${app.url}/u/{token}`,
      one_click: `${app.url}/u/{token}`,
      preferences: `${app.url}/preferences/{token}`,
      click: `${app.url}/c/{token}/{link}`,
      open: `${app.url}/o/{token}.gif`,
    },
    // No mailto: this process takes in no mail.
    mail: { return_path: 'b+{token}@posthaste.test', unsubscribe: null },
    feedback_id: `${post.id}:${list.id}:broadcast:posthaste`,
    message_id_domain: 'posthaste.test',
  })

  const { body: detail } = await project.get(path)
  assert.deepEqual([detail.status, detail.sending, detail.broadcast], ['draft', true, { status: 'sending', reason: null, warm_up: null }])
  assert.deepEqual(detail.stats, { recipients: 2, delivered: 0, opened: 0, clicked: 0, bounced: 0 })
})

test('agents on the list have no address, and are none of the recipients', async () => {
  const { project, list, path } = await newPost(app, { subscribers: 2 })
  const agent = speaking(app.url, (await registerAnonymous(app)).credential)
  assert.equal((await agent.post(`/lists/${list.id}/join`, {})).body.status, 'created')
  assert.equal((await project.get(`/lists/${list.id}`)).body.subscriber_count, 3)
  assert.deepEqual((await send(project, path)).body, { status: 'sending', recipients: 2 })
  assert.equal((await project.get(path)).body.stats.recipients, 2)
  assert.equal(await sentBy(project), 2)
})

test('a scheduled post goes out now and not again, and so does a published one', async () => {
  const { project, path } = await newPost(app, { subscribers: 1 })
  await project.post(`${path}/schedule`, { scheduled_at: '2099-01-01T00:00:00Z' })
  assert.equal((await send(project, path)).status, 202)
  const { body } = await project.get(path)
  assert.deepEqual([body.status, body.scheduled_at, body.sending], ['draft', null, true])
  const published = await newPost(app, { subscribers: 1 })
  await published.project.post(`${published.path}/publish`)
  assert.equal((await send(published.project, published.path)).status, 202)
  assert.equal((await published.project.get(published.path)).body.status, 'published')
})

test('sending approves what needed approval', async () => {
  const { project, path } = await newPost(app, { subscribers: 1 })
  await database.run`update posts set needs_approval = true where project_id = ${project.id}`
  assert.equal((await send(project, path)).status, 202)
  assert.equal((await project.get(path)).body.needs_approval, false)
})

test('what is in flight, sent or rejected is refused, and so is what has no body or no readers', async () => {
  const { project, list } = await newPost(app, { subscribers: 1 })
  const posts = `/lists/${list.id}/posts`
  const of = (id: string) => `${posts}/${id}`
  const cases: [string, RegExp][] = []
  for (const status of ['sending', 'paused'] as const) {
    const id = await addPostInFlight(database, { project_id: project.id, listId: list.id, status })
    cases.push([of(id), new RegExp(`^status: is ${status}; only a draft, a scheduled or a published post can be sent`)])
  }
  for (const status of ['sent', 'rejected']) {
    const { body } = await project.post(posts, { subject: status, body_text: 'x' })
    await database.run`update posts set status = ${status} where project_id = ${project.id} and id = ${parseId('post', body.id)}`
    cases.push([of(body.id), new RegExp(`^status: is ${status}; only a draft`)])
  }
  cases.push([of((await project.post(posts, { subject: 'Empty' })).body.id), /^body_html: is empty/])
  const lonely = await newPost(app, { project })
  cases.push([lonely.path, /^list: has no active subscribers/])
  await project.events()
  const before = await broadcasts(project)
  for (const [where, message] of cases) {
    const answer = await send(project, where)
    assert.deepEqual([answer.status, answer.body.error.code], [422, 'validation_error'], where)
    assert.match(answer.body.error.message, message)
  }
  assert.equal(await broadcasts(project), before)
  assert.equal(await sentBy(project), 0)
  assert.deepEqual(await project.events(), [])
})

test('of twenty who send at once, one does', async () => {
  const { project, path } = await newPost(app, { subscribers: 3 })
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(project, path)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, ...Array.from({ length: 19 }, () => 422)])
  assert.equal(await broadcasts(project), 1)
  assert.equal(await sentBy(project), 3)
  assert.deepEqual(await project.events(), ['post.sent'])
})

test('a repeat with the same Idempotency-Key answers 200 and sends nothing; the key is for one post', async () => {
  const { project, list, path } = await newPost(app, { subscribers: 1 })
  const { body: other } = await project.post(`/lists/${list.id}/posts`, { subject: 'Other', body_text: 'x' })
  await project.events()
  const key = { 'idempotency-key': 'once' }
  const answers = await Promise.all([send(project, path, key), send(project, path, key), send(project, path, key)])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 202])
  for (const { body } of answers) assert.deepEqual(body, { status: 'sending', recipients: 1 })
  const elsewhere = await send(project, `/lists/${list.id}/posts/${other.id}`, key)
  assert.deepEqual([elsewhere.status, elsewhere.body.error.code], [422, 'validation_error'])
  assert.match(elsewhere.body.error.message, /^Idempotency-Key: /)
  await database.run`update broadcasts set status = 'done' where project_id = ${project.id}`
  await database.run`update posts set status = 'sent' where project_id = ${project.id} and subject = 'Hello'`
  assert.deepEqual((await send(project, path, key)).body, { status: 'sent', recipients: 1 })
  assert.deepEqual(await project.events(), ['post.sent'])
  assert.equal(await broadcasts(project), 1)
})

test('after a crash between beginning and answering, the same key finds what was begun', async () => {
  const { project, path } = await newPost(app, { subscribers: 1 })
  const key = { 'idempotency-key': 'crash' }
  assert.equal((await send(project, path, key)).status, 202)
  // As a process leaves it that died before it could finish the key, once its lease is over.
  await database.run`update idempotency_keys set lease_until = '2020-01-01' where project_id = ${project.id}`
  const again = await send(project, path, key)
  assert.deepEqual([again.status, again.body], [200, { status: 'sending', recipients: 1 }])
  assert.equal(await broadcasts(project), 1)
})

test('a key that was refused is free for the next try', async () => {
  const { project, list, path } = await newPost(app)
  const key = { 'idempotency-key': 'again' }
  assert.equal((await send(project, path, key)).status, 422)
  await project.post(`/lists/${list.id}/subscribers`, { email: 'late@example.org', verified: true })
  assert.equal((await send(project, path, key)).status, 202)
})

test('over the plan it is 402 with a challenge, and the post stays as it was; paid for, it goes', async () => {
  const { project, path } = await newPost(app, { subscribers: 2 })
  await useUp(app, project, 99)
  const before = (await project.get(path)).body
  const refusal = await send(project, path)
  assert.deepEqual([refusal.status, refusal.body.error.code], [402, 'limit_exceeded'])
  assert.match(refusal.headers.get('www-authenticate') ?? '', /^Payment /)
  assert.match(refusal.body.error.message, /1 of 2 e-mails did not fit/)
  assert.deepEqual((await project.get(path)).body, before)
  assert.equal(await broadcasts(project), 0)
  assert.deepEqual(await project.events(), [])

  const paid = await send(project, path, { 'payment-authorization': credentialFor(refusal, 'spt_good') })
  assert.equal(paid.status, 202, JSON.stringify(paid.body))
  assert.ok(paid.headers.get('payment-receipt'))
  assert.deepEqual(await project.events(), ['post.sent'])
  assert.equal(await broadcasts(project), 1)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useUp } from '../../../tests/support/payable.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { broadcastOf, newPost, postData } from '../../../tests/support/posts.ts'
import { queuedMail } from '../../../tests/support/subscribers.ts'
import { until } from '../../../tests/support/until.ts'
import { createCompiler } from '../../mail/compile/index.ts'
import { DueTurns } from './due-turns.ts'
import { sendDuePosts, startDuePosts } from './index.ts'

/** Nothing runs by itself here: the process was down, as it were. */
const app = await startApp({ ROLES: 'http,consumers' })
const { database } = app.services
const hour = 3_600_000

async function scheduledPost(subscribers: number, inMs = hour) {
  const made = await newPost(app, { subscribers })
  const scheduled_at = new Date(app.clock.now().getTime() + inMs).toISOString()
  assert.equal((await made.project.post(`${made.path}/schedule`, { scheduled_at })).status, 200)
  await made.project.events()
  return { ...made, scheduled_at }
}

/** What the installation has told somebody by mail. */
const noticesTo = async (address: string) =>
  database.many<{ subject: string; text: string }>`
    select mail->>'subject' as subject, mail->>'text' as text from messages where recipient = ${address} and kind = 'post_not_sent'`

test('what came due while nothing was running goes out, once; what is not due waits', async () => {
  const due = await scheduledPost(2)
  const later = await scheduledPost(1, 3 * hour)
  await sendDuePosts(app.services)
  assert.deepEqual(await due.project.events(), [])
  app.clock.advance(2 * hour)
  await Promise.all([sendDuePosts(app.services), sendDuePosts(app.services), sendDuePosts(app.services)])
  await sendDuePosts(app.services)
  const data = await postData(due.project, due.list, due.post)
  assert.deepEqual(await due.project.eventsWithData(), [{ type: 'post.sent', data }])
  const { body } = await due.project.get(due.path)
  assert.deepEqual([body.status, body.sending, body.scheduled_at, body.stats.recipients], ['draft', true, null, 2])
  assert.equal((await due.project.get('/usage')).body.emails_sent, 2)
  assert.equal((await broadcastOf(app, due.project, due.post.id))?.recipients, 2)
  const audit = await database.many`
    select user_id, key_id, target->>'postId' as post from audit_log where project_id = ${due.project.id} and operation = 'posts.send'`
  assert.deepEqual(audit, [{ user_id: null, key_id: null, post: due.post.id }])
  assert.equal((await later.project.get(later.path)).body.status, 'scheduled')
  assert.deepEqual(await later.project.events(), [])
})

test('one that was cancelled, moved or whose list or project is gone does not go out', async () => {
  const [cancelled, moved, listGone, projectGone] = [
    await scheduledPost(1),
    await scheduledPost(1),
    await scheduledPost(1),
    await scheduledPost(1),
  ]
  await cancelled.project.post(`${cancelled.path}/cancel`)
  await moved.project.post(`${moved.path}/schedule`, { scheduled_at: '2099-01-01T00:00:00Z' })
  await listGone.project.delete(`/lists/${listGone.list.id}`)
  await database.run`update projects set deleted_at = now() where id = ${projectGone.project.id}`
  app.clock.advance(2 * hour)
  await sendDuePosts(app.services)
  for (const { project } of [cancelled, moved, listGone, projectGone]) {
    assert.equal((await database.many`select 1 from broadcasts where project_id = ${project.id}`).length, 0)
    assert.ok(!(await project.events()).includes('post.sent'))
  }
})

test('over the plan, it is a draft again and its owner is told', async () => {
  const { project, list, post, path, scheduled_at } = await scheduledPost(3)
  app.clock.advance(2 * hour)
  await useUp(app, project, 98)
  await sendDuePosts(app.services)
  const data = await postData(project, list, post)
  assert.deepEqual(await project.eventsWithData(), [{ type: 'post.updated', data }])
  const { body } = await project.get(path)
  assert.deepEqual(body, post)
  assert.equal((await project.get('/usage')).body.emails_sent, 98)
  const [notice, ...more] = await noticesTo(project.email)
  assert.equal(more.length, 0)
  assert.equal(notice?.subject, 'A scheduled post was not sent')
  assert.match(notice?.text ?? '', new RegExp(`“Hello” was due at ${scheduled_at}`))
  assert.match(notice?.text ?? '', /no room left for this month: 1 of 3 e-mails did not fit/)
  await sendDuePosts(app.services)
  assert.equal((await noticesTo(project.email)).length, 1)
  assert.deepEqual(await queuedMail(app, project), [])
})

test('with nobody left to send to, it is a draft again and its owner is told', async () => {
  const { project, list, path } = await scheduledPost(1)
  const { body: subscribers } = await project.get(`/lists/${list.id}/subscribers`)
  await project.delete(`/lists/${list.id}/subscribers/${subscribers[0].id}`)
  await project.events()
  app.clock.advance(2 * hour)
  await sendDuePosts(app.services)
  assert.deepEqual(await project.events(), ['post.updated'])
  assert.equal((await project.get(path)).body.status, 'draft')
  assert.match((await noticesTo(project.email))[0]?.text ?? '', /nobody to send to/)
})

test('more than one look can hold are all sent', async () => {
  const { project, list, post } = await newPost(app, { subscribers: 1 })
  await database.run`
    insert into posts (project_id, list_id, id, subject, body_text, status, scheduled_at, created_at, updated_at)
    select project_id, list_id, gen_random_uuid(), 'Many', 'x', 'scheduled', '2020-01-01', now(), now() from posts, generate_series(1, 120)
    where project_id = ${project.id}`
  while (await sendDuePosts(app.services));
  assert.equal((await database.many`select 1 from broadcasts where project_id = ${project.id}`).length, 120)
  assert.equal((await project.get(`/lists/${list.id}/posts/${post.id}`)).body.sending, false)
})

/** Due for a while, oldest first. */
async function duePosts(count: number) {
  const { project } = await newPost(app, { subscribers: 1 })
  await database.run`
    insert into posts (project_id, list_id, id, subject, body_text, status, scheduled_at, created_at, updated_at)
    select project_id, list_id, gen_random_uuid(), 'Due ' || nr, 'x', 'scheduled', now() - interval '1 hour' + nr * interval '1 second', now(), now()
    from posts, generate_series(1, ${count}::int) nr where project_id = ${project.id}`
  return {
    sent: async () =>
      (
        await database.many<{ subject: string }>`
          select source->'post'->>'subject' as subject from broadcasts where project_id = ${project.id} order by subject`
      ).map(({ subject }) => subject),
  }
}

test('projects take turns: who has many due holds up nobody else', async () => {
  const [many, one] = [await duePosts(3), await duePosts(1)]
  await sendDuePosts(app.services)
  assert.deepEqual([await many.sent(), await one.sent()], [['Due 1'], ['Due 1']])
  while (await sendDuePosts(app.services));
  assert.deepEqual(await many.sent(), ['Due 1', 'Due 2', 'Due 3'])
})

test('where more projects wait than a round has room for, each has its turn before one has its second', async () => {
  const [many, one] = [await duePosts(3), await duePosts(1)]
  const turns = new DueTurns(1)
  await sendDuePosts(app.services, turns)
  assert.deepEqual([await many.sent(), await one.sent()], [['Due 1'], []])
  await sendDuePosts(app.services, turns)
  assert.deepEqual([await many.sent(), await one.sent()], [['Due 1'], ['Due 1']])
  while (await sendDuePosts(app.services, turns));
  assert.deepEqual(await many.sent(), ['Due 1', 'Due 2', 'Due 3'])
})

test('one that could not be sent lets those behind it pass, and is tried again later', async () => {
  const posts = await duePosts(2)
  const busy = createCompiler()
  await busy.stop()
  const turns = new DueTurns()
  let now = app.clock.now()
  const services = { ...app.services, clock: { now: () => now } }
  await sendDuePosts({ ...services, compiler: busy }, turns)
  assert.deepEqual(await posts.sent(), [])
  while (await sendDuePosts(services, turns));
  assert.deepEqual(await posts.sent(), ['Due 2'])
  now = new Date(now.getTime() + 5_000)
  while (await sendDuePosts(services, turns));
  assert.deepEqual(await posts.sent(), ['Due 1', 'Due 2'])
})

test('the loop sends a post within two seconds of its time', async () => {
  const loop = startDuePosts(app.services)
  try {
    const { project, path } = await scheduledPost(1, 300)
    await until('it is on its way', async () => (await project.get(path)).body.sending, { withinMs: 2_300 })
    assert.deepEqual(await project.events(), ['post.sent'])
  } finally {
    await loop.stop()
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newPost, newSentPost } from '../../../tests/support/posts.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { parseId } from '../../base/ids.ts'
import { expandOne } from '../../delivery/broadcast/expand.ts'
import { purgeList } from '../lists/index.ts'
import { lookAfterBroadcasts } from './index.ts'

const app = await startApp({ ROLES: 'http,consumers' })
const { database } = app.services

const sentBy = async (project: TestProject): Promise<number> => (await project.get('/usage')).body.emails_sent
const noticesTo = (address: string) => database.many<{ subject: string; text: string }>`
  select mail->>'subject' as subject, mail->>'text' as text from messages where recipient = ${address} and kind = 'post_paused'`

test('what a broadcast has booked and not used is given back, once', async () => {
  const { project } = await newSentPost(app, ['delivered', 'failed', 'bounced', 'failed', 'complained'])
  assert.equal(await sentBy(project), 5)
  await Promise.all([lookAfterBroadcasts(app.services), lookAfterBroadcasts(app.services), lookAfterBroadcasts(app.services)])
  await lookAfterBroadcasts(app.services)
  assert.equal(await sentBy(project), 3)
  assert.deepEqual(await database.many`select booked, reservation_id from broadcasts where project_id = ${project.id}`, [
    { booked: 3, reservation_id: null },
  ])
  assert.deepEqual(await project.events(), [])
})

test('who had left before their turn is given back, too', async () => {
  const { project } = await newSentPost(app, ['delivered', 'delivered'])
  await database.run`delete from deliveries where (project_id, id) in (select project_id, id from deliveries where project_id = ${project.id} limit 1)`
  await lookAfterBroadcasts(app.services)
  assert.equal(await sentBy(project), 1)
})

test('a retry that fails again is given back again', async () => {
  const { project, path } = await newSentPost(app, ['delivered', 'failed', 'failed'])
  await lookAfterBroadcasts(app.services)
  assert.equal(await sentBy(project), 1)
  assert.deepEqual((await project.post(`${path}/deliveries/retry`)).body, { retried: 2 })
  while (await expandOne(database));
  assert.equal(await sentBy(project), 3)
  await lookAfterBroadcasts(app.services)
  assert.equal(await sentBy(project), 3)
  await database.run`
    update deliveries set status = case when email = 'reader-2@example.org' then 'delivered' else 'failed' end
    where project_id = ${project.id} and status = 'queued'`
  await database.run`update broadcasts set status = 'done', finished_at = now() where project_id = ${project.id}`
  await lookAfterBroadcasts(app.services)
  assert.equal(await sentBy(project), 2)
})

test('what is in flight keeps its booking; a list that is purged gives it back', async () => {
  const { project, list, path } = await newPost(app, { subscribers: 3 })
  await project.post(`${path}/send`)
  await lookAfterBroadcasts(app.services)
  assert.equal(await sentBy(project), 3)
  await database.run`
    insert into deliveries (project_id, id, broadcast_id, subscriber_id, contact_id, email, status, next_attempt_at)
    select project_id, gen_random_uuid(), id, gen_random_uuid(), gen_random_uuid(), 'x@example.org', 'delivered', now()
    from broadcasts where project_id = ${project.id}`
  const key = { project_id: project.id, list_id: parseId('lst', list.id) as never }
  await project.delete(`/lists/${list.id}`)
  await purgeList.run(app.services, key)
  await purgeList.run(app.services, key)
  assert.equal(await sentBy(project), 1)
  assert.equal((await database.many`select 1 from broadcasts where project_id = ${project.id}`).length, 0)
})

test('the owner of a post that the breaker has paused is told, once each time', async () => {
  const { project, path } = await newPost(app, { subscribers: 1 })
  await project.post(`${path}/send`)
  const trip = () => database.run`
    update broadcasts set status = 'paused', tripped = 'bounces', reason = 'Paused by itself: 5 of 100.' where project_id = ${project.id}`
  await trip()
  await Promise.all([lookAfterBroadcasts(app.services), lookAfterBroadcasts(app.services)])
  await lookAfterBroadcasts(app.services)
  const [notice, ...more] = await noticesTo(project.email)
  assert.equal(more.length, 0)
  assert.equal(notice?.subject, 'A post was paused while it was being sent')
  assert.match(notice?.text ?? '', /“Hello” is held back/)
  assert.match(notice?.text ?? '', /Paused by itself: 5 of 100\./)
  assert.equal((await project.get(path)).body.broadcast.reason, 'Paused by itself: 5 of 100.')

  assert.equal((await project.post(`${path}/resume`)).status, 200)
  await lookAfterBroadcasts(app.services)
  assert.equal((await noticesTo(project.email)).length, 1)
  await trip()
  await lookAfterBroadcasts(app.services)
  assert.equal((await noticesTo(project.email)).length, 2)
})

test('the owner of many posts hears of each that is paused; one that is resumed all day long does not fill a mailbox', async () => {
  const { project, path } = await newPost(app, { subscribers: 1 })
  await project.post(`${path}/send`)
  const trip = () => database.run`
    update broadcasts set status = 'paused', tripped = 'bounces', reason = 'Paused by itself.', owner_told_at = null where project_id = ${project.id}`
  const tellBefore = (times: number) => database.run`
    insert into messages (project_id, id, kind, recipient, recipient_key, mail, status, created_at)
    select ${project.id}, gen_random_uuid(), 'post_paused', ${project.email}, lower(${project.email}), '{}', 'delivered', ${app.clock.now()}
    from generate_series(1, ${times}::integer)`
  await tellBefore(20)
  await trip()
  await lookAfterBroadcasts(app.services)
  assert.equal((await noticesTo(project.email)).length, 21)
  await tellBefore(79)
  await trip()
  await lookAfterBroadcasts(app.services)
  assert.equal((await noticesTo(project.email)).length, 100)
})

test('a post that was paused by hand tells nobody', async () => {
  const { project, path } = await newPost(app, { subscribers: 1 })
  await project.post(`${path}/send`)
  await project.post(`${path}/pause`)
  await lookAfterBroadcasts(app.services)
  assert.deepEqual(await noticesTo(project.email), [])
})

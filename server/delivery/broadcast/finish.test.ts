import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startApp } from '../../../tests/support/posthaste.ts'
import { addPostInFlight, broadcastOf, newPost, postData } from '../../../tests/support/posts.ts'
import { parseId } from '../../base/ids.ts'
import { finishBroadcasts } from './settle.ts'

const app = await startApp({ ROLES: 'http,consumers' })
const { database } = app.services

/** A post whose broadcast has nothing left to send. */
async function newOver() {
  const made = await newPost(app, { subscribers: 1 })
  await made.project.post(`${made.path}/send`)
  await database.run`update broadcasts set is_expanded = true where project_id = ${made.project.id}`
  await made.project.events()
  return made
}

test('a broadcast ends once, with its post, whoever sees it', async () => {
  const { project, path, post, list } = await newOver()
  await Promise.all(Array.from({ length: 5 }, () => finishBroadcasts(database)))
  assert.equal((await project.get(path)).body.status, 'sent')
  const data = await postData(project, list, post)
  assert.deepEqual(await project.eventsWithData(), [{ type: 'post.delivered', data }])
})

test('one that was paused after its last copy ends all the same', async () => {
  const { project, path, post, list } = await newOver()
  assert.equal((await project.post(`${path}/pause`)).status, 200)
  assert.deepEqual(await project.events(), ['post.paused'])
  await finishBroadcasts(database)
  const { body } = await project.get(path)
  assert.deepEqual([body.status, body.sending, (await broadcastOf(app, project, post.id))?.status], ['sent', false, 'done'])
  assert.equal((await broadcastOf(app, project, post.id))?.reason, null)
  assert.deepEqual(await project.eventsWithData(), [{ type: 'post.delivered', data: await postData(project, list, post) }])
})

test('one that is paused with something left stays so, and one that the breaker paused until its owner was told', async () => {
  const { project, list } = await newPost(app)
  const flying = await addPostInFlight(database, { project_id: project.id, listId: list.id, status: 'paused' })
  const tripped = await newOver()
  await database.run`update broadcasts set status = 'paused', tripped = 'bounces' where project_id = ${tripped.project.id}`
  await finishBroadcasts(database)
  assert.equal((await broadcastOf(app, project, flying))?.status, 'paused')
  assert.equal((await broadcastOf(app, tripped.project, tripped.post.id))?.status, 'paused')
  assert.deepEqual([await project.events(), await tripped.project.events()], [[], []])
  await database.run`update broadcasts set owner_told_at = now() where project_id = ${tripped.project.id}`
  await finishBroadcasts(database)
  assert.equal((await broadcastOf(app, tripped.project, tripped.post.id))?.status, 'done')
})

test('whoever holds the post gets its broadcast, too: nobody who ends it waits for the post with that in hand', async () => {
  const { project, path, post } = await newOver()
  let finishing: Promise<void> = Promise.resolve()
  await database.transaction(async (tx) => {
    await tx.run`select 1 from posts where project_id = ${project.id} and id = ${parseId('post', post.id)} for update`
    finishing = finishBroadcasts(database)
    await sleep(300)
    await tx.run`set local lock_timeout = '300ms'`
    await tx.run`update broadcasts set reason = 'looked at' where project_id = ${project.id}`
  })
  await finishing
  assert.equal((await project.get(path)).body.status, 'sent')
})

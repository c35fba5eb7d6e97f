import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newPost, postData } from '../../../tests/support/posts.ts'
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

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { broadcastOf, newPost } from '../../../tests/support/posts.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { newId, parseId } from '../../base/ids.ts'
import { lookAfterBroadcasts } from '../../features/posts/index.ts'
import { expandOne } from './expand.ts'

/** No sender runs: what a test expands stays as it is. */
const app = await startApp({ ROLES: 'http,consumers' })
const { database } = app.services
const hourMs = 3_600_000

/** Who is to get it. */
async function expand(project: TestProject): Promise<string[]> {
  while (await expandOne(database));
  const rows = await database.many<{ email: string }>`select email from deliveries where project_id = ${project.id} order by email`
  return rows.map(({ email }) => email.slice(0, email.indexOf('@')))
}

const add = async (project: TestProject, list: { id: string }, email: string) =>
  (await project.post(`/lists/${list.id}/subscribers`, { email, verified: true })).body.id as string
const setStatus = (project: TestProject, list: { id: string }, id: string, status: string) =>
  project.patch(`/lists/${list.id}/subscribers/${id}`, { status })

test('a clock that was set back after people joined skips none of them', async () => {
  const { project, path } = await newPost(app, { subscribers: 3 })
  app.clock.advance(-hourMs)
  const { status, body } = await project.post(`${path}/send`)
  app.clock.advance(hourMs)
  assert.deepEqual([status, body.recipients], [202, 3])
  assert.deepEqual(await expand(project), ['reader-1', 'reader-2', 'reader-3'])
})

test('who joins or comes back after the press gets nothing of it, also by a machine whose clock is behind; who left gets nothing either', async () => {
  const { project, path, list } = await newPost(app, { subscribers: 2 })
  const [back, gone] = [await add(project, list, 'back@example.org'), await add(project, list, 'gone@example.org')]
  await setStatus(project, list, back, 'unsubscribed')
  assert.equal((await project.post(`${path}/send`)).body.recipients, 3)
  app.clock.advance(-hourMs)
  await add(project, list, 'late@example.org')
  await setStatus(project, list, back, 'active')
  await setStatus(project, list, gone, 'unsubscribed')
  const imported = { body: 'email\nimported@example.org', headers: { 'content-type': 'text/csv' } }
  assert.equal((await project.request('POST', `/lists/${list.id}/subscribers/import`, imported)).body.imported, 1)
  app.clock.advance(hourMs)
  assert.deepEqual(await expand(project), ['reader-1', 'reader-2'])
})

test('a name that changes after the press leaves somebody where they were', async () => {
  const { project, path, list } = await newPost(app)
  const id = await add(project, list, 'ann@example.org')
  await project.post(`${path}/send`)
  await project.patch(`/lists/${list.id}/subscribers/${id}`, { name: 'Ann' })
  assert.deepEqual(await expand(project), ['ann'])
})

test('whose joining was under way in the moment of the press may be one more than was booked: then both say so', async () => {
  const { project, path, list, post } = await newPost(app, { subscribers: 3 })
  await database.transaction(async (tx) => {
    await tx.run`
      insert into subscribers (project_id, list_id, id, contact_id, email, email_key, status)
      values (${project.id}, ${parseId('lst', list.id)}, ${newId()}, ${newId()}, 'joining@example.org', 'joining@example.org', 'active')`
    assert.equal((await project.post(`${path}/send`)).body.recipients, 3)
  })
  assert.deepEqual(await expand(project), ['joining', 'reader-1', 'reader-2', 'reader-3'])
  assert.equal((await broadcastOf(app, project, post.id))?.recipients, 4)
  await database.run`update deliveries set status = 'delivered' where project_id = ${project.id}`
  await database.run`update broadcasts set status = 'done', delivered = 4, finished_at = now() where project_id = ${project.id}`
  await lookAfterBroadcasts(app.services)
  assert.equal((await project.get('/usage')).body.emails_sent, 4)
  assert.deepEqual(await database.many`select reservation_id, booked from broadcasts where project_id = ${project.id}`, [
    { reservation_id: null, booked: 4 },
  ])
})

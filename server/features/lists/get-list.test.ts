import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { formatId, newId } from '../../base/ids.ts'

const app = await startApp()

test('a list reads back as it was answered when it was made', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'News', type: 'announcement', description: 'Of the day' })
  await project.events()
  const { status, body } = await project.get(`/lists/${list.id}`)
  assert.equal(status, 200)
  assert.deepEqual(body, list)
  assert.deepEqual(await project.events(), [])
})

test('subscriber_count tells the active ones, and is right after each change', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Counted' })
  const count = async () => (await project.get(`/lists/${list.id}`)).body.subscriber_count
  await project.post(`/lists/${list.id}/subscribers`, { email: 'pending@example.org' })
  assert.equal(await count(), 0)
  const { body: ann } = await project.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.org', verified: true })
  assert.equal(await count(), 1)
  await project.patch(`/lists/${list.id}/subscribers/${ann.id}`, { status: 'unsubscribed' })
  assert.equal(await count(), 0)
})

test('an id that never existed, one of another project and one that is gone answer alike', async () => {
  const [ours, theirs] = [await app.newProject(), await app.newProject()]
  const { body: foreign } = await theirs.post('/lists', { name: 'Theirs' })
  const { body: gone } = await ours.post('/lists', { name: 'Gone' })
  await ours.delete(`/lists/${gone.id}`)
  await ours.events()
  const answers = await Promise.all([formatId('lst', newId()), foreign.id, gone.id].map((id) => ours.get(`/lists/${id}`)))
  for (const { status, body } of answers) {
    assert.equal(status, 404)
    assert.equal(body.error.code, 'not_found')
    assert.deepEqual(body, answers[0]?.body)
  }
  assert.deepEqual(await ours.events(), [])
})

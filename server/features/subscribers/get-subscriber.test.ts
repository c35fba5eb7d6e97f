import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { formatId, newId } from '../../base/ids.ts'

const app = await startApp()

test('a subscriber is answered with every field of the detail', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'News' })
  const { body: ann } = await project.post(`/lists/${list.id}/subscribers`, { email: 'Ann@example.org', name: 'Ann', verified: true })
  await project.events()
  const { status, body } = await project.get(`/lists/${list.id}/subscribers/${ann.id}`)
  assert.equal(status, 200)
  assert.deepEqual(body, { ...ann, last_open_at: null, last_click_at: null, country: null, city: null })
  assert.deepEqual(await project.events(), [])
})

test('one that never existed, of another list, of another project, or under the wrong list is not found alike', async () => {
  const [ours, theirs] = [await app.newProject(), await app.newProject()]
  const { body: list } = await ours.post('/lists', { name: 'One' })
  const { body: second } = await ours.post('/lists', { name: 'Two' })
  const { body: foreign } = await theirs.post('/lists', { name: 'Three' })
  const { body: ann } = await ours.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.org' })
  const { body: bob } = await theirs.post(`/lists/${foreign.id}/subscribers`, { email: 'bob@example.org' })
  await ours.events()
  const paths = [
    `/lists/${list.id}/subscribers/${formatId('sub', newId())}`,
    `/lists/${formatId('lst', newId())}/subscribers/${ann.id}`,
    `/lists/${second.id}/subscribers/${ann.id}`,
    `/lists/${foreign.id}/subscribers/${bob.id}`,
    `/lists/${list.id}/subscribers/${bob.id}`,
    `/lists/${foreign.id}/subscribers/${ann.id}`,
  ]
  const answers = await Promise.all(paths.map((path) => ours.get(path)))
  for (const { status, body } of answers) {
    assert.equal(status, 404)
    assert.equal(body.error.code, 'not_found')
    assert.deepEqual(body, answers[0]?.body)
  }
  assert.deepEqual(await ours.events(), [])
})

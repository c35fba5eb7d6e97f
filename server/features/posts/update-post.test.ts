import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { addPostInFlight, newPost, postData } from '../../../tests/support/posts.ts'

const app = await startApp()
const { database } = app.services

test('a draft changes in what is named; the rest stays, and null empties', async () => {
  const { project, list, post, path } = await newPost(app, { body: { preview_text: 'Look', body_text: 'Hi' } })
  const { status, body } = await project.patch(path, { subject: 'Other', body_markdown: '# Hi', body_html: null, preview_text: null })
  assert.equal(status, 200)
  assert.deepEqual(body, { ...post, subject: 'Other', body_markdown: '# Hi', body_html: null, preview_text: null })
  assert.deepEqual((await project.get(path)).body, body)
  assert.deepEqual(await project.eventsWithData(), [{ type: 'post.updated', data: await postData(project, list, post) }])
})

test('a change makes what was found in the text before worthless', async () => {
  const { project, post, path } = await newPost(app)
  await database.run`update posts set issues_summary = '{"links": 1}', checked_at = now() where project_id = ${project.id}`
  assert.deepEqual((await project.get(path)).body.issues_summary, { links: 1 })
  const { body } = await project.patch(path, { body_text: 'New' })
  assert.deepEqual(body, { ...post, body_text: 'New' })
  assert.deepEqual((await project.get(path)).body, body)
})

test('a change that changes nothing publishes nothing', async () => {
  const { project, post, path } = await newPost(app)
  for (const body of [{}, undefined, { subject: ' Hello ' }, { body_html: '<p>Hi</p>', body_text: null }, { status: 'sent', id: 'x' }]) {
    const answer = await project.patch(path, body)
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.body, post)
  }
  assert.deepEqual(await project.events(), [])
})

test('what is wrong is named, and nothing is changed', async () => {
  const { project, post, path } = await newPost(app)
  const cases: [unknown, RegExp][] = [
    [{ subject: null }, /^subject: must be a string/],
    [{ subject: '' }, /^subject: must not be empty/],
    [{ body_html: ['x'] }, /^body_html: must be a string/],
    [{ subject: 'New', body_html: 'a\nb {{ name | nofilter }}' }, /^body_html: line 2, column \d+: .*nofilter/],
  ]
  for (const [body, message] of cases) {
    const answer = await project.patch(path, body)
    assert.equal(answer.status, 422)
    assert.match(answer.body.error.message, message)
  }
  assert.deepEqual((await project.get(path)).body, post)
  assert.deepEqual(await project.events(), [])
})

test('a draft can be deleted, and is gone', async () => {
  const { project, path } = await newPost(app)
  const { status, body } = await project.delete(path)
  assert.deepEqual([status, body], [204, null])
  assert.equal((await project.get(path)).status, 404)
  assert.equal((await project.delete(path)).status, 404)
  assert.deepEqual(await project.events(), [])
})

test('only a draft can be changed or deleted', async () => {
  const { project, list } = await newPost(app)
  const posts = `/lists/${list.id}/posts`
  const flying = await addPostInFlight(database, { project_id: project.id, listId: list.id, status: 'sending' })
  const paused = await addPostInFlight(database, { project_id: project.id, listId: list.id, status: 'paused' })
  const states: [string, string][] = [
    [flying, 'sending'],
    [paused, 'paused'],
  ]
  for (const status of ['scheduled', 'published', 'sent', 'rejected']) {
    const { body } = await project.post(posts, { subject: status })
    await database.run`update posts set status = ${status}, scheduled_at = '2099-01-01' where project_id = ${project.id} and subject = ${status}`
    states.push([body.id, status])
  }
  await project.events()
  for (const [id, state] of states) {
    const before = (await project.get(`${posts}/${id}`)).body
    for (const answer of [await project.patch(`${posts}/${id}`, { subject: 'New' }), await project.delete(`${posts}/${id}`)]) {
      assert.equal(answer.status, 422, state)
      assert.match(answer.body.error.message, new RegExp(`^status: is ${state}; only a draft can be `))
    }
    assert.deepEqual((await project.get(`${posts}/${id}`)).body, before)
  }
  assert.deepEqual(await project.events(), [])
})

test('twenty changes of different fields at once are all kept', async () => {
  const { project, path } = await newPost(app)
  const changes = [{ subject: 'A' }, { body_text: 'B' }, { body_markdown: 'C' }, { preview_text: 'D' }]
  const answers = await Promise.all([1, 2, 3, 4, 5].flatMap(() => changes.map((change) => project.patch(path, change))))
  assert.ok(answers.every((answer) => answer.status === 200))
  const { subject, body_text, body_markdown, preview_text } = (await project.get(path)).body
  assert.deepEqual([subject, body_text, body_markdown, preview_text], ['A', 'B', 'C', 'D'])
})

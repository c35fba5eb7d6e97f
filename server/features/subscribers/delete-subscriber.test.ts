import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { assertCounts } from '../../../tests/support/subscribers.ts'
import { formatId, newId } from '../../base/ids.ts'

const app = await startApp()

async function newList() {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'News' })
  return { project, list, path: `/lists/${list.id}/subscribers` }
}

test('a subscriber is removed, whatever the status; the contact stays, and the numbers follow', async () => {
  const { project, list, path } = await newList()
  const { body: active } = await project.post(path, { email: 'a@example.org', verified: true })
  const { body: pending } = await project.post(path, { email: 'p@example.org' })
  const { body: gone } = await project.post(path, { email: 'u@example.org', verified: true })
  const { body: unsubscribed } = await project.patch(`${path}/${gone.id}`, { status: 'unsubscribed' })
  await project.events()
  const left = { active: 1, pending: 1, unsubscribed: 1 }
  for (const subscriber of [active, pending, unsubscribed]) {
    const { status, body } = await project.delete(`${path}/${subscriber.id}`)
    assert.equal(status, 204)
    assert.equal(body, null)
    const [event, ...more] = await project.eventsWithData()
    assert.deepEqual([event?.type, more], ['subscriber.deleted', []])
    assert.deepEqual([event?.data.subscriber_id, event?.data.list_id, event?.data.subscriber], [subscriber.id, list.id, subscriber])
    left[subscriber.status as keyof typeof left]--
    await assertCounts(app, project, list.id, left)
    assert.equal((await project.get(`${path}/${subscriber.id}`)).status, 404)
  }
  const contacts = await app.services.database.many`select 1 from contacts where project_id = ${project.id}`
  assert.equal(contacts.length, 3)
})

test('who was removed can be added again, as somebody new', async () => {
  const { project, path } = await newList()
  const { body: first } = await project.post(path, { email: 'ann@example.org', verified: true })
  await project.delete(`${path}/${first.id}`)
  await project.events()
  const { status, body: second } = await project.post(path, { email: 'ann@example.org', verified: true })
  assert.equal(status, 201)
  assert.notEqual(second.id, first.id)
  assert.equal(second.status, 'active')
  assert.deepEqual(await project.events(), ['subscriber.created'])
})

test('ten deletes at once: one succeeds, and tells once', async () => {
  const { project, list, path } = await newList()
  const { body } = await project.post(path, { email: 'ann@example.org', verified: true })
  await project.events()
  const answers = await Promise.all(Array.from({ length: 10 }, () => project.delete(`${path}/${body.id}`)))
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [204, ...Array(9).fill(404)])
  assert.deepEqual(await project.events(), ['subscriber.deleted'])
  await assertCounts(app, project, list.id, {})
})

test('another project’s subscriber, and one that never existed, are not found, and nothing is removed', async () => {
  const [{ project, list, path }, other] = [await newList(), await newList()]
  const { body } = await project.post(path, { email: 'ann@example.org', verified: true })
  await Promise.all([project.events(), other.project.events()])
  const missing = await other.project.delete(`${other.path}/${formatId('sub', newId())}`)
  for (const answer of [
    missing,
    await other.project.delete(`${path}/${body.id}`),
    await other.project.delete(`${other.path}/${body.id}`),
  ]) {
    assert.equal(answer.status, 404)
    assert.deepEqual(answer.body, missing.body)
  }
  await assertCounts(app, project, list.id, { active: 1 })
  assert.deepEqual([...(await project.events()), ...(await other.project.events())], [])
})

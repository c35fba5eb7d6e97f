import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newMailbox } from '../../../tests/support/inbound.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { importReaders, newList } from '../../../tests/support/posts.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { newSentPost } from '../../../tests/support/recipients.ts'
import { until } from '../../../tests/support/until.ts'
import { moveRest } from '../agents/move-rest.ts'
import { wrongContactCounts } from '../contacts/contact-counter.ts'

const app = await startApp()
const { database } = app.services

const statsOf = async (project: TestProject) => {
  const { status, body } = await project.get('/stats')
  assert.equal(status, 200)
  return body
}
const noneWrong = async (...projects: TestProject[]) =>
  assert.deepEqual(
    (await wrongContactCounts(database)).filter(({ project_id }) => projects.some(({ id }) => id === project_id)),
    [],
  )

test('a new project has nothing', async () => {
  const project = await app.newProject()
  assert.deepEqual(await statsOf(project), { lists: 0, active_subscribers: 0, contacts: 0, emails_sent: 0 })
  assert.deepEqual(await project.events(), [])
})

test('lists, subscriptions, people and mail, each as it is counted; another project has none of it', async () => {
  const project = await app.newProject()
  const [first, second] = [await newList(app, { project }), await newList(app, { project })]
  await importReaders(project, first.list.id, 5)
  const add = (listId: string, email: string, verified = true) => project.post(`/lists/${listId}/subscribers`, { email, verified })
  await add(second.list.id, 'reader-1@example.org')
  await add(second.list.id, 'pending@example.org', false)
  assert.deepEqual(await statsOf(project), { lists: 2, active_subscribers: 6, contacts: 6, emails_sent: 0 })

  const { address } = await newMailbox(app, project)
  await project.post('/emails', { from: address, to: 'guest@example.org', subject: 'Receipt', text: 'Thanks' })
  const { body: post } = await project.post(`/lists/${first.list.id}/posts`, { subject: 'Hello', body_html: '<p>Hi</p>' })
  await project.post(`/lists/${first.list.id}/posts/${post.id}/send`)
  await until('all to be sent', async () => (await statsOf(project)).emails_sent === 6)
  assert.deepEqual(await statsOf(project), { lists: 2, active_subscribers: 6, contacts: 6, emails_sent: 6 })
  const other = await app.newProject()
  assert.deepEqual(await statsOf(other), { lists: 0, active_subscribers: 0, contacts: 0, emails_sent: 0 })

  await project.delete(`/lists/${first.list.id}`)
  assert.deepEqual(await statsOf(project), { lists: 1, active_subscribers: 1, contacts: 6, emails_sent: 6 })
  await until('the purge', async () => (await database.many`select 1 from broadcasts where project_id = ${project.id}`).length === 0)
  assert.equal((await statsOf(project)).emails_sent, 6, 'what was sent was sent')
  await noneWrong(project, other)
})

test('what is booked and has not left yet is not counted as sent', async () => {
  const { project } = await newSentPost(app, { subscribers: 3 })
  await until('three', async () => (await statsOf(project)).emails_sent === 3)
  // As while the last of them is still waiting.
  await database.run`
    update broadcasts set reservation_id = gen_random_uuid(), booked = 3, delivered = 2 where project_id = ${project.id}`
  assert.equal((await statsOf(project)).emails_sent, 2)
})

test('people count once, whoever meets them at the same time, and no more when they are erased', async () => {
  const { project, list } = await newList(app)
  const lists = [list.id, (await newList(app, { project })).list.id]
  const emails = Array.from({ length: 8 }, (_, index) => `both-${index}@example.org`)
  await Promise.all(
    emails.flatMap((email) => lists.map((listId) => project.post(`/lists/${listId}/subscribers`, { email, verified: true }))),
  )
  await Promise.all(lists.map((listId) => importReaders(project, listId, 50)))
  assert.deepEqual(await statsOf(project), { lists: 2, active_subscribers: 116, contacts: 58, emails_sent: 0 })
  const [contact] = (await project.get('/contacts?search=both-3@')).body
  assert.equal((await project.delete(`/contacts/${contact.id}`)).status, 204)
  assert.deepEqual(await statsOf(project), { lists: 2, active_subscribers: 114, contacts: 57, emails_sent: 0 })
  await noneWrong(project)
})

test('where two projects become one, whom both know counts once', async () => {
  const [agent, human] = [await app.newProject(), await app.newProject()]
  for (const [project, count] of [
    [agent, 4],
    [human, 2],
  ] as const)
    await importReaders(project, (await newList(app, { project })).list.id, count)
  await moveRest.run(app.services, { from: agent.id, to: human.id })
  assert.deepEqual(await statsOf(human), { lists: 2, active_subscribers: 6, contacts: 4, emails_sent: 0 })
  assert.deepEqual((await statsOf(agent)).contacts, 0)
  await noneWrong(agent, human)
})

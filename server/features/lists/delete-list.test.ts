import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { addPostInFlight } from '../../../tests/support/posts.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { type ListId, parseId } from '../../base/ids.ts'
import { purgeList } from './index.ts'

const app = await startApp()

/** How many rows each table still has of a list. */
async function rowsOf(project: TestProject, list_id: ListId) {
  const row = await app.services.database.first<Record<string, number>>`
    select (select count(*) from subscribers where project_id = ${project.id} and list_id = ${list_id}) as subscribers,
      (select count(*) from list_counters where project_id = ${project.id} and list_id = ${list_id}) as counters,
      (select count(*) from list_activity where project_id = ${project.id} and list_id = ${list_id}) as items,
      (select count(*) from list_activity_hours where project_id = ${project.id} and list_id = ${list_id}) as hours`
  return { subscribers: row?.subscribers, counters: row?.counters, items: row?.items, hours: row?.hours }
}
const none = { subscribers: 0, counters: 0, items: 0, hours: 0 }

test('a deleted list is gone at once, with everything below it, and its events tell', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Brief' })
  const { body: ann } = await project.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.org', verified: true })
  await project.events()

  const { status, body } = await project.delete(`/lists/${list.id}`)
  assert.equal(status, 204)
  assert.equal(body, null)
  const events = await project.eventsWithData()
  assert.deepEqual(
    events.map((event) => event.type),
    ['mailbox.deleted', 'list.deleted'],
  )
  assert.equal(events[0]?.data.mailbox_id, list.mailbox_id)
  assert.deepEqual(events[1]?.data, { list_id: list.id, list: { ...list, subscriber_count: 1 } })

  const below = ['', '/subscribers', `/subscribers/${ann.id}`, '/activity', '/posts'].map((path) => project.get(`/lists/${list.id}${path}`))
  const changes = [
    project.patch(`/lists/${list.id}`, { name: 'Back' }),
    project.post(`/lists/${list.id}/subscribers`, { email: 'bob@example.org' }),
    project.patch(`/lists/${list.id}/subscribers/${ann.id}`, { status: 'unsubscribed' }),
    project.delete(`/lists/${list.id}/subscribers/${ann.id}`),
    project.delete(`/lists/${list.id}`),
  ]
  for (const answer of await Promise.all([...below, ...changes])) {
    assert.equal(answer.status, 404)
    assert.equal(answer.body.error.code, 'not_found')
  }
  assert.deepEqual(await project.events(), [])
})

test('its name and its address are free again', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Phoenix' })
  await project.delete(`/lists/${list.id}`)
  const { status, body: again } = await project.post('/lists', { name: 'Phoenix' })
  assert.equal(status, 201)
  assert.equal(again.subdomain, 'phoenix')
  assert.equal(again.mailbox_address, 'phoenix@posthaste.test')
  assert.notEqual(again.mailbox_id, list.mailbox_id)
})

test('the purge leaves no row of the list, however often it runs, and none of another list goes', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Purged' })
  const { body: other } = await project.post('/lists', { name: 'Kept' })
  const [list_id, other_id] = [parseId('lst', list.id) as ListId, parseId('lst', other.id) as ListId]
  for (const email of ['ann@example.org', 'bob@example.org']) {
    await project.post(`/lists/${list.id}/subscribers`, { email, verified: true })
    await project.post(`/lists/${other.id}/subscribers`, { email, verified: true })
  }
  for (const one of [list_id, other_id]) await until('the feed is filed', async () => (await rowsOf(project, one)).items === 2)
  const before = await rowsOf(project, other_id)
  assert.equal((await rowsOf(project, list_id)).subscribers, 2)
  await project.delete(`/lists/${list.id}`)
  await project.events()

  for (let times = 0; times < 2; times++) {
    await purgeList.run(app.services, { project_id: project.id, list_id })
    assert.deepEqual(await rowsOf(project, list_id), none)
  }
  assert.deepEqual(await rowsOf(project, other_id), before)
  assert.deepEqual(await project.events(), [])
  const contacts = await app.services.database.many`select 1 from contacts where project_id = ${project.id}`
  assert.equal(contacts.length, 2, 'contacts are people across all lists')
})

test('the purge takes the posts along, ends what is being sent, and leaves nothing of it', async () => {
  const project = await app.newProject()
  const lists = [(await project.post('/lists', { name: 'Sent' })).body, (await project.post('/lists', { name: 'Kept' })).body]
  const { database } = app.services
  for (const list of lists) {
    await project.post(`/lists/${list.id}/posts`, { subject: 'Draft' })
    for (const status of ['sending', 'paused'] as const)
      await addPostInFlight(database, { project_id: project.id, listId: list.id, status })
  }
  await database.run`
    insert into broadcast_links (project_id, broadcast_id, number, url) select project_id, id, 0, 'https://example.org' from broadcasts where project_id = ${project.id}`
  const left = async () => {
    const row = await database.first<Record<string, number>>`
      select (select count(*) from posts where project_id = ${project.id}) as posts,
        (select count(*) from broadcasts where project_id = ${project.id}) as broadcasts,
        (select count(*) from deliveries where project_id = ${project.id}) as deliveries,
        (select count(*) from broadcast_links where project_id = ${project.id}) as links`
    return [row?.posts, row?.broadcasts, row?.deliveries, row?.links]
  }
  assert.deepEqual(await left(), [6, 4, 4, 4])
  await project.delete(`/lists/${lists[0].id}`)
  for (let times = 0; times < 2; times++) {
    await purgeList.run(app.services, { project_id: project.id, list_id: parseId('lst', lists[0].id) as ListId })
    assert.deepEqual(await left(), [3, 2, 2, 2])
  }
})

test('what the feed files late does not outlive the list', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Late' })
  const list_id = parseId('lst', list.id) as ListId
  // An open transaction holds every consumer up, as an import or a backup does.
  const held = Promise.withResolvers<void>()
  const holding = app.services.database.transaction(async (tx) => {
    await tx.run`select pg_current_xact_id()`
    await held.promise
  })
  try {
    await project.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.org', verified: true })
    await project.delete(`/lists/${list.id}`)
    await purgeList.run(app.services, { project_id: project.id, list_id })
  } finally {
    held.resolve()
    await holding
  }
  const told = await app.services.database.first<{ at: number }>`select max(position) as at from events where project_id = ${project.id}`
  await until(
    'the consumer is past it',
    () => app.services.database.first`select 1 from event_consumers where name = 'activity' and position >= ${told?.at}`,
  )
  assert.deepEqual(await rowsOf(project, list_id), none)
})

test('deleting queues the purge, and the scheduler carries it out', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Later' })
  await project.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.org', verified: true })
  await project.delete(`/lists/${list.id}`)
  const list_id = parseId('lst', list.id) as ListId
  await until('the subscribers are gone', async () => (await rowsOf(project, list_id)).subscribers === 0, { withinMs: 30_000, everyMs: 50 })
})

test('two deletes at once: one succeeds, and tells once', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Twice' })
  await project.events()
  const answers = await Promise.all(Array.from({ length: 5 }, () => project.delete(`/lists/${list.id}`)))
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [204, 404, 404, 404, 404])
  assert.deepEqual(await project.events(), ['mailbox.deleted', 'list.deleted'])
})

test('another project’s list is not found, and stays', async () => {
  const [ours, theirs] = [await app.newProject(), await app.newProject()]
  const { body: list } = await theirs.post('/lists', { name: 'Theirs' })
  await theirs.events()
  const { status, body } = await ours.delete(`/lists/${list.id}`)
  assert.equal(status, 404)
  assert.equal(body.error.code, 'not_found')
  assert.equal((await theirs.get(`/lists/${list.id}`)).status, 200)
  assert.deepEqual([...(await ours.events()), ...(await theirs.events())], [])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'
import { until } from '../../tests/support/until.ts'
import { publish } from '../events/publish.ts'
import { purgeList, repairCounters } from '../features/lists/index.ts'
import { cleanUp } from './clean-up.ts'

const app = await startApp()
const { database } = app.services

test('a job queued in a transaction runs after the commit, and never after a rollback', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Jobs' })
  await project.post(`/lists/${list.id}/subscribers`, { email: 'a@example.com', verified: true })
  const left = async () => (await database.many`select 1 from subscribers where project_id = ${project.id}`).length
  assert.equal(await left(), 1)
  await project.delete(`/lists/${list.id}`)
  await until('the purge', async () => (await left()) === 0)

  const queued = async () => (await database.many`select 1 from jobs.job where name = 'lists.purge'`).length
  const before = await queued()
  await assert.rejects(
    database.transaction(async (tx) => {
      await app.services.jobs.enqueue(tx, purgeList, { project_id: project.id, list_id: list.id })
      throw new Error('no')
    }),
  )
  assert.equal(await queued(), before)
})

test('the nightly repair finds wrong counters and mends them', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Counted' })
  await project.post(`/lists/${list.id}/subscribers`, { email: 'a@example.com', verified: true })
  await database.run`update list_counters set active = active + 41, bounced = 7 where project_id = ${project.id}`
  assert.equal((await project.get(`/lists/${list.id}`)).body.subscriber_count, 42)
  await repairCounters.run(app.services, {})
  assert.equal((await project.get(`/lists/${list.id}`)).body.subscriber_count, 1)
  const rest = await database.first<{
    bounced: number
  }>`select sum(bounced)::bigint as bounced from list_counters where project_id = ${project.id}`
  assert.equal(rest?.bounced, 0)
})

test('the nightly clean-up removes old events that everybody has read, and no others', async () => {
  const project = await app.newProject()
  const count = async () => (await database.many`select 1 from events where project_id = ${project.id}`).length
  await database.transaction((tx) => publish(tx, project.id, 'project.deleted', { project_id: project.id }))
  assert.equal(await count(), 1)
  await cleanUp.run(app.services, {})
  assert.equal(await count(), 1, 'it is young')
  await database.run`update events set created_at = now() - interval '15 days' where project_id = ${project.id}`
  await database.run`insert into event_consumers (name) values ('a slow one')`
  await cleanUp.run(app.services, {})
  assert.equal(await count(), 1, 'somebody has not read it')
  await database.run`delete from event_consumers where name = 'a slow one'`
  await until('the event to go', async () => {
    await cleanUp.run(app.services, {})
    return (await count()) === 0
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'
import { until } from '../../tests/support/until.ts'
import type { Log } from '../base/log.ts'
import { publish } from '../events/publish.ts'
import { purgeList, repairCounters } from '../features/lists/index.ts'
import { allJobs } from './all-jobs.ts'
import { cleanUp } from './clean-up.ts'
import { defineJob, startJobs, startQueue } from './jobs.ts'

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

test('a job that fails leaves a line in the log that says which and why', async () => {
  const lines: { level: string; job?: string; reason?: string; stack?: string }[] = []
  const at = (level: string) => (about: object) => void lines.push({ level, ...about })
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } as unknown as Log
  const job = defineJob<object>({
    name: 'tests.fail',
    retryLimit: 0,
    run: async () => {
      throw new Error('the moon is too bright')
    },
  })
  const jobs = await startJobs(database, log, [job])
  try {
    await jobs.work([job], app.services)
    await database.transaction((tx) => jobs.enqueue(tx, job, {}))
    const failed = await until('the line', () => lines.find(({ level }) => level === 'error'), { withinMs: 10_000 })
    assert.deepEqual([failed.job, failed.reason], ['tests.fail', 'the moon is too bright'])
    assert.match(failed.stack ?? '', /jobs\.test\.ts/)
    await until('its state', async () => database.first`select 1 from jobs.job where name = 'tests.fail' and state = 'failed'`)
  } finally {
    await jobs.stop()
  }
})

test('a job may take hours without a second one beside it; a process that died is noticed in minutes', async () => {
  const queues = await database.many<{ name: string; expire_seconds: number; heartbeat_seconds: number | null }>`
    select name, expire_seconds, heartbeat_seconds from jobs.queue where name = any(${allJobs.map(({ name }) => name)})`
  assert.equal(queues.length, allJobs.length)
  for (const { name, expire_seconds, heartbeat_seconds } of queues)
    assert.deepEqual([expire_seconds, heartbeat_seconds], [6 * 3_600, 300], name)
})

test('what a job says of its retries holds for the timetable as well, and for queues that an earlier release made', async () => {
  let runs = 0
  const job = defineJob<object>({
    name: 'tests.once',
    retryLimit: 0,
    run: async () => {
      runs++
      throw new Error('not today')
    },
  })
  const before = await startQueue(database, app.services.log, [], { supervise: false, schedule: false })
  await before.createQueue(job.name)
  await before.stop({ graceful: false })
  const jobs = await startJobs(database, app.services.log, [job])
  try {
    // As the timetable does: without a word about retries.
    const timetable = await startQueue(database, app.services.log, [job], { supervise: false, schedule: false })
    await timetable.send(job.name, {})
    await timetable.stop({ graceful: false })
    await database.transaction((tx) => jobs.enqueue(tx, job, {}))
    const rules = await database.many`
      select retry_limit, retry_backoff, expire_seconds, heartbeat_seconds from jobs.job where name = ${job.name}`
    const wanted = { retry_limit: 0, retry_backoff: true, expire_seconds: 6 * 3_600, heartbeat_seconds: 300 }
    assert.deepEqual(rules, [wanted, wanted])
    await jobs.work([job], app.services)
    const failed = () => database.many`select 1 from jobs.job where name = ${job.name} and state = 'failed'`
    await until('both to have failed', async () => (await failed()).length === 2, { withinMs: 20_000 })
    assert.equal(runs, 2)
  } finally {
    await jobs.stop()
  }
})

test('a text of several statements that fails leaves nobody inside its transaction', async () => {
  for (let time = 0; time < 5; time++) await assert.rejects(database.execute('begin; select 1/0; commit'), /division by zero/)
  await Promise.all(Array.from({ length: 20 }, () => database.first`select 1 as fine`))
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
  await database.run`update events set created_at = now() - interval '31 days' where project_id = ${project.id}`
  await database.run`insert into event_consumers (name) values ('a slow one')`
  await cleanUp.run(app.services, {})
  assert.equal(await count(), 1, 'somebody has not read it')
  await database.run`delete from event_consumers where name = 'a slow one'`
  await until('the event to go', async () => {
    await cleanUp.run(app.services, {})
    return (await count()) === 0
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newSentPost } from '../../../tests/support/posts.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import type { Log } from '../../base/log.ts'
import { lookAfterBroadcasts } from '../../features/posts/index.ts'
import { cleanUp } from '../../jobs/clean-up.ts'
import { pruneDeliveries, repairBroadcastCounts } from './retention.ts'

const app = await startApp({ ROLES: 'http,consumers', DELIVERY_RETENTION_DAYS: '30' })
const { database } = app.services

const ended = (project: TestProject, daysAgo: number) => database.run`
  update broadcasts set finished_at = ${new Date(app.clock.now().getTime() - daysAgo * 86_400_000)} where project_id = ${project.id}`
const ledger = async (project: TestProject): Promise<number> =>
  (await database.many`select 1 from deliveries where project_id = ${project.id}`).length

/** What was told, in place of the log. */
function listening(): { log: Log; told: object[] } {
  const told: object[] = []
  return { told, log: { ...app.services.log, warn: (data: object) => told.push(data) } as unknown as Log }
}

test('the ledger of old broadcasts is removed at night, and their counts stay', async () => {
  const [old, young] = [await newSentPost(app, ['delivered', 'bounced']), await newSentPost(app, ['delivered'])]
  await lookAfterBroadcasts(app.services)
  await ended(old.project, 31)
  await ended(young.project, 29)
  await cleanUp.run(app.services, {})
  await cleanUp.run(app.services, {})
  assert.deepEqual([await ledger(old.project), await ledger(young.project)], [0, 1])
  const { body } = await old.project.get(old.path)
  assert.deepEqual([body.stats.delivered, body.stats.bounced], [1, 1])
  assert.deepEqual((await old.project.get(`${old.path}/deliveries`)).body, [])
})

test('what is in flight, or has not given back yet, is kept however old', async () => {
  const [paused, unreleased] = [await newSentPost(app, ['delivered']), await newSentPost(app, ['delivered'])]
  await database.run`update broadcasts set status = 'paused', reservation_id = null where project_id = ${paused.project.id}`
  await ended(paused.project, 500)
  await ended(unreleased.project, 500)
  await pruneDeliveries(database, { now: app.clock.now(), days: 30 })
  assert.deepEqual([await ledger(paused.project), await ledger(unreleased.project)], [1, 1])
})

test('counts that are off are mended and told; right ones are left alone', async () => {
  const { project } = await newSentPost(app, ['delivered', 'delivered', 'bounced', 'failed', 'complained'])
  await database.run`
    update deliveries set open_count = 2, click_count = 1 where project_id = ${project.id} and email in ('reader-1@example.org', 'reader-2@example.org')`
  await database.run`update broadcasts set delivered = 7, opened = 2, clicked = 1 where project_id = ${project.id}`
  const first = listening()
  await repairBroadcastCounts(database, first.log, app.clock.now())
  assert.equal(first.told.length, 1)
  assert.partialDeepStrictEqual(first.told[0], {
    difference: { delivered: -5, bounced: 0, failed: 0, complained: 1, opened: 0, clicked: 1 },
  })
  const counts = await database.first`
    select delivered, bounced, failed, complained, opened, clicked from broadcasts where project_id = ${project.id}`
  assert.deepEqual(counts, { delivered: 2, bounced: 1, failed: 1, complained: 1, opened: 2, clicked: 2 })
  const second = listening()
  await repairBroadcastCounts(database, second.log, app.clock.now())
  assert.deepEqual(second.told, [])
})

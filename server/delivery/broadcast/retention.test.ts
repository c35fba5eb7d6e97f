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

const tonight = (log: Log = app.services.log) => ({ database, log, now: app.clock.now() })

/** What was told, in place of the log. */
function listening(): { log: Log; told: object[] } {
  const told: object[] = []
  const tell = (data: object) => told.push(data)
  return { told, log: { ...app.services.log, warn: tell, error: tell } as unknown as Log }
}

/** Refuses what is asked of the deliveries of this project: a statement that takes too long. */
const refuse = (project: TestProject, what: string) =>
  database.execute(`
    create or replace function refuse() returns trigger language plpgsql as $$ begin raise exception 'took too long'; end $$;
    create trigger refuse before ${what} for each row when (old.project_id = '${project.id}') execute function refuse()`)

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
  await pruneDeliveries(tonight(), 30)
  assert.deepEqual([await ledger(paused.project), await ledger(unreleased.project)], [1, 1])
})

test('counts that are off are mended and told; right ones are left alone', async () => {
  const { project } = await newSentPost(app, ['delivered', 'delivered', 'bounced', 'failed', 'complained'])
  await database.run`
    update deliveries set open_count = 2, click_count = 1 where project_id = ${project.id} and email in ('reader-1@example.org', 'reader-2@example.org')`
  await database.run`update broadcasts set delivered = 7, opened = 2, clicked = 1 where project_id = ${project.id}`
  const first = listening()
  await repairBroadcastCounts(tonight(first.log))
  assert.equal(first.told.length, 1)
  assert.partialDeepStrictEqual(first.told[0], {
    difference: { delivered: -5, bounced: 0, failed: 0, complained: 1, opened: 0, clicked: 1 },
  })
  const counts = await database.first`
    select delivered, bounced, failed, complained, opened, clicked from broadcasts where project_id = ${project.id}`
  assert.deepEqual(counts, { delivered: 2, bounced: 1, failed: 1, complained: 1, opened: 2, clicked: 2 })
  const second = listening()
  await repairBroadcastCounts(tonight(second.log))
  assert.deepEqual(second.told, [])
})

test('a removal that ends in the middle falsifies no counts, is taken up by the next night, and nothing of it can be tried again', async () => {
  const { project, path } = await newSentPost(app, ['delivered', 'delivered', 'delivered', 'failed'])
  await lookAfterBroadcasts(app.services)
  await ended(project, 10)
  await database.run`
    update deliveries set project_id = gen_random_uuid() where project_id = ${project.id} and email in ('reader-1@example.org', 'reader-2@example.org')`
  await refuse(project, 'delete on deliveries')
  await assert.rejects(pruneDeliveries(tonight(), 7), /1 of \d+ broadcasts/)
  await repairBroadcastCounts(tonight())
  assert.equal(await ledger(project), 2)
  assert.equal((await project.post(`${path}/deliveries/retry`)).status, 422)
  await database.run`drop trigger refuse on deliveries`
  await pruneDeliveries(tonight(), 7)
  assert.equal(await ledger(project), 0)
  assert.partialDeepStrictEqual((await project.get(path)).body.stats, { recipients: 4, delivered: 3 })
})

test('a step of the night that fails is told and fails the job; the other steps, and the other broadcasts, have their turn', async () => {
  const [bad, good, old] = [
    await newSentPost(app, ['delivered']),
    await newSentPost(app, ['delivered']),
    await newSentPost(app, ['delivered']),
  ]
  await lookAfterBroadcasts(app.services)
  await ended(old.project, 31)
  await database.run`update broadcasts set delivered = 7 where project_id in (${bad.project.id}, ${good.project.id})`
  await refuse(bad.project, 'update on broadcasts')
  await database.run`alter table captured_messages rename to captured_messages_away`
  const { told, log } = listening()
  await assert.rejects(cleanUp.run({ ...app.services, log }, {}), /failed at captured_messages, broadcast_counts;/)
  await database.run`alter table captured_messages_away rename to captured_messages`
  await database.run`drop trigger refuse on broadcasts`
  const deliveredOf = async ({ project, path }: typeof bad) => (await project.get(path)).body.stats.delivered
  assert.deepEqual([await deliveredOf(bad), await deliveredOf(good), await ledger(old.project)], [7, 1, 0])
  assert.deepEqual(
    told.flatMap((data) => ('step' in data ? [data.step] : 'reason' in data ? [data.reason] : [])),
    ['captured_messages', 'took too long', 'broadcast_counts'],
  )
  await cleanUp.run(app.services, {})
  assert.equal(await deliveredOf(bad), 1)
})

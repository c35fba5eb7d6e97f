import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../../tests/support/project.ts'
import { until } from '../../../../tests/support/until.ts'
import { tellOf, tellOfMany } from '../../../../tests/support/webhooks.ts'
import { newId, type WebhookId } from '../../../base/ids.ts'
import { consumeBatch } from '../../../events/consume.ts'
import { sealSecret } from '../sign-delivery.ts'
import { makeWebhookSecret } from '../webhook.ts'
import { createDeliveryFiler } from './file-deliveries.ts'
import { MassFiler } from './file-masses.ts'

/** Nobody files or sends here but the test itself. */
const app = await startApp({ ROLES: 'http' })
const { database, secrets } = app.services
const filer = createDeliveryFiler()
/** Open transactions of other databases on the server hold the log up, too: a test file beside us. */
const consume = () =>
  until('the outbox is read', async () => {
    while ((await consumeBatch(database, filer, { waits: true })).rows > 0);
    const behind = await database.first`
      select 1 from events e, event_consumers c where c.name = ${filer.name} and (e.transaction_id, e.position) > (c.transaction_id, c.position)`
    return behind === null
  })
const emptyMasses = async (masses: MassFiler) => {
  while (await masses.step());
}

async function newProject(webhooks: number) {
  const project = await app.newProject()
  const ids = Array.from({ length: webhooks }, () => newId<'whk'>())
  await database.run`
    insert into webhooks (project_id, id, url, events, secret, created_at, updated_at)
    select ${project.id}, one.id, 'https://example.com/', array['contact_group.created'], one.secret, now(), now()
    from unnest(${ids}::uuid[], ${ids.map((id) => sealSecret(secrets, id, makeWebhookSecret()))}::bytea[]) as one (id, secret)`
  return { project, ids }
}

const namesTo = (count: number) => Array.from({ length: count }, (_, index) => `one ${index}`)
const filedOf = async ({ id }: TestProject): Promise<number> =>
  (await database.many`select 1 from webhook_deliveries where project_id = ${id}`).length
const massesOf = async ({ id }: TestProject): Promise<number> =>
  (await database.many`select 1 from webhook_masses where project_id = ${id}`).length
/** What it is to be sent, in this order. */
const queueOf = (id: WebhookId) => database.many<{ event_id: string; item: number; status: string; error: string | null }>`
  select event_id, item, status, error from webhook_deliveries where webhook_id = ${id} order by id`

test('what one project makes by the hundred thousand is put aside, and others do not wait for it', async () => {
  const { project: mass } = await newProject(100)
  const { project: single } = await newProject(1)
  for (let index = 0; index < 5; index++) await tellOfMany(app, mass, namesTo(1_000))
  await tellOf(app, single, 'hello')
  await consume()
  assert.deepEqual([await filedOf(mass), await massesOf(mass), await filedOf(single)], [0, 5, 1])
  const masses = new MassFiler(database)
  await masses.step()
  assert.deepEqual([await filedOf(mass), await massesOf(mass)], [5_000, 5])
  await tellOf(app, single, 'again')
  await consume()
  assert.equal(await filedOf(single), 2)
  await database.run`delete from webhook_masses where project_id = ${mass.id}`
})

test('what was put aside is filed once for each webhook, in the order of the events, also by two at once', async () => {
  const { project, ids } = await newProject(100)
  await tellOf(app, project, 'first')
  await tellOfMany(app, project, namesTo(120))
  await tellOf(app, project, 'last')
  await consume()
  assert.deepEqual([await filedOf(project), await massesOf(project)], [100, 2], 'whoever has something aside waits behind it')
  await Promise.all([emptyMasses(new MassFiler(database)), emptyMasses(new MassFiler(database))])
  assert.deepEqual([await filedOf(project), await massesOf(project)], [12_200, 0])
  for (const id of ids) {
    const queue = await queueOf(id)
    assert.deepEqual(
      queue.map(({ item }) => item),
      [0, ...Array.from({ length: 120 }, (_, item) => item), 0],
    )
    assert.equal(new Set(queue.map(({ event_id }) => event_id)).size, 122)
  }
  await tellOf(app, project, 'afterwards')
  await consume()
  assert.equal(await filedOf(project), 12_300, 'with nothing aside, events are filed at once')
})

test('projects that have something aside take turns', async () => {
  const projects = [(await newProject(100)).project, (await newProject(100)).project]
  for (const project of projects) await tellOfMany(app, project, namesTo(150))
  await consume()
  const masses = new MassFiler(database)
  for (const expected of [5_000, 10_000, 15_000]) {
    await masses.step()
    await masses.step()
    assert.deepEqual(await Promise.all(projects.map(filedOf)), [expected, expected])
  }
})

test('a webhook that is gone by then gets nothing, a paused one later, and for a disabled one it has failed', async () => {
  const { project, ids } = await newProject(100)
  await tellOfMany(app, project, namesTo(101))
  await consume()
  const [gone, paused, disabled] = ids as [WebhookId, WebhookId, WebhookId]
  await database.run`delete from webhooks where id = ${gone}`
  await database.run`update webhooks set status = 'paused' where id = ${paused}`
  await database.run`update webhooks set status = 'disabled' where id = ${disabled}`
  await emptyMasses(new MassFiler(database))
  assert.deepEqual(await queueOf(gone), [])
  const [waiting, failed] = [await queueOf(paused), await queueOf(disabled)]
  assert.deepEqual([waiting.length, waiting[0]?.status, waiting[0]?.error], [101, 'pending', null])
  assert.deepEqual([failed.length, failed[0]?.status], [101, 'failed'])
  assert.match(failed[0]?.error ?? '', /disabled before/)
  assert.equal(await filedOf(project), 99 * 101)
})

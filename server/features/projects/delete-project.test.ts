import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeFixtures } from '../../../tests/support/operations.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking, type TestProject } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { formatId, newId, type ProjectId } from '../../base/ids.ts'
import { rawKey } from '../../blobs/blob-store.ts'
import type { Database } from '../../database/database.ts'
import { scopes } from '../../operations/context.ts'
import { findInstance } from '../identity/index.ts'
import { insertToken, makeKey } from '../tokens/index.ts'
import { periodStart } from '../usage/usage.ts'
import { purgeProject } from './index.ts'

const app = await startApp({ ALLOW_PRIVATE_WEBHOOKS: 'true' })
const { database } = app.services

/** How many rows each table has of a project, where it has any. */
async function rowsOf(project_id: ProjectId): Promise<Record<string, number>> {
  const { rows: tables } = await database.execute(
    `select table_name as name from information_schema.columns where table_schema = 'public' and column_name = 'project_id' order by 1`,
  )
  const counted: Record<string, number> = {}
  for (const { name } of tables) {
    const { rows } = await database.execute(`select count(*) as count from ${name} where project_id = $1`, [project_id])
    if (Number(rows[0]?.count) > 0) counted[String(name)] = Number(rows[0]?.count)
  }
  return counted
}

/** A project with a row in as many tables as the API fills, and in some that it does not. */
async function fullProject(): Promise<TestProject> {
  const project = await app.newProject()
  await makeFixtures(app, project)
  const { body: lists } = await project.get('/lists')
  await project.post(`/lists/${lists[0].id}/subscribers`, { email: 'unconfirmed@example.org' })
  await project.post('/invites', { email: `asked-${project.id}@example.org` })
  await database.run`
    insert into oauth_grants (project_id, id, grant_id, user_id, client_id, client_name, scopes, created_at)
    values (${project.id}, ${newId()}, ${project.id}, ${project.user_id}, 'app', 'App', '{read}', now())`
  await until('the feed is filed', async () => (await rowsOf(project.id)).list_activity === 3)
  return project
}

const path = (project: TestProject) => `/api/projects/${formatId('prj', project.id)}`
const remaining = { events: 1 }
/** What was sent lately still counts for the owner. */
const remainingOfSender = { events: 1, usage_periods: 1 }

test('a deleted project is over at once: its event tells, and no key of anybody opens it', async () => {
  const project = await fullProject()
  const editor = await project.addMember('editor')
  const { body: list } = await project.post('/lists', { name: 'Going' })
  const bound = await project.post('/api/tokens', { name: 'Bot', scope: 'read', mailbox_id: list.mailbox_id })
  await project.events()
  const { status, body } = await project.delete(path(project))
  assert.deepEqual([status, body], [204, null])
  assert.deepEqual(await project.eventsWithData(), [{ type: 'project.deleted', data: { project_id: formatId('prj', project.id) } }])
  for (const who of [project, editor, speaking(app.url, bound.body.key)])
    await until('its keys are refused', async () => (await who.get('/api/me')).status === 401, { withinMs: 1_000 })
  for (const table of ['api_keys', 'members', 'oauth_grants'])
    assert.equal((await database.execute(`select 1 from ${table} where project_id = $1`, [project.id])).rows.length, 0, table)
  assert.equal((await database.many`select 1 from invites where project_id = ${project.id} and status = 'pending'`).length, 0)
})

test('its space can be taken again by others at once, its addresses after 90 days: mail for them still comes', async () => {
  const [project, other] = [await app.newProject(), await app.newProject()]
  await project.post('/lists', { name: 'Evergreen' })
  await database.run`update projects set slug = 'evergreen-space' where id = ${project.id}`
  assert.equal((await project.delete(path(project))).status, 204)
  const { body: list } = await other.post('/lists', { name: 'Evergreen' })
  assert.deepEqual([list.subdomain, list.mailbox_address], ['evergreen-2', 'evergreen-2@posthaste.test'])
  await database.run`update retired_addresses set kept_until = now() where address_key = 'evergreen@posthaste.test'`
  const { body: later } = await other.post('/lists', { name: 'Evergreen' })
  assert.deepEqual([later.subdomain, later.mailbox_address], ['evergreen', 'evergreen@posthaste.test'])
  assert.equal((await other.post('/api/projects', { name: 'Evergreen Space' })).body.slug, 'evergreen-space')
})

test('the scheduler purges it: nothing of the tenant is left, and nothing of others is touched', async () => {
  const [project, other] = [await fullProject(), await fullProject()]
  const filled = Object.keys(await rowsOf(project.id))
  for (const table of ['lists', 'subscribers', 'contacts', 'suppressions', 'events', 'audit_log', 'messages', 'list_counters', 'invites'])
    assert.ok(filled.includes(table), table)
  const before = await rowsOf(other.id)
  await project.delete(path(project))
  await until('only the last event is left', async () => JSON.stringify(await rowsOf(project.id)) === JSON.stringify(remainingOfSender), {
    withinMs: 30_000,
    everyMs: 100,
  })
  const tombstone = await until(
    'the tombstone has no name',
    () => database.first<{ slug: string; deleted_at: Date }>`
    select * from projects where id = ${project.id} and name = ''`,
  )
  assert.ok(tombstone.deleted_at)
  assert.deepEqual(await rowsOf(other.id), before)
  assert.equal((await other.get('/lists')).status, 200)
})

test('a purge that is interrupted goes on, and one more finds nothing to do', async () => {
  const project = await fullProject()
  await database.run`
    insert into contacts (project_id, id, email, email_key)
    select ${project.id}, gen_random_uuid(), n || '@example.org', n || '@example.org' from generate_series(1, 25000) n`
  // Deleted without the queue, so that the scheduler does not come between.
  await database.run`update projects set deleted_at = now(), slug = ${`deleted-${project.id}`} where id = ${project.id}`
  await database.run`delete from events where project_id = ${project.id}`
  for (let allowed = 1; ; allowed += 3) {
    let asked = 0
    const brittle: Database = {
      ...database,
      execute: (text, values) => (++asked > allowed ? Promise.reject(new Error('killed')) : database.execute(text, values)),
    }
    const isDone = await purgeProject.run({ ...app.services, database: brittle }, { project_id: project.id }).then(
      () => true,
      () => false,
    )
    if (isDone) break
    assert.notEqual((await database.first<{ name: string }>`select name from projects where id = ${project.id}`)?.name, '')
  }
  assert.deepEqual(await rowsOf(project.id), { usage_periods: 1 })
  await purgeProject.run(app.services, { project_id: project.id })
  assert.deepEqual(await rowsOf(project.id), { usage_periods: 1 })
})

test('what came late is swept up at night, and projects that were merged, or live, are left alone', async () => {
  const [project, merged] = [await app.newProject(), await app.newProject()]
  await merged.post('/lists', { name: 'Merged' })
  await database.run`update projects set deleted_at = now() where id = ${merged.id}`
  await project.delete(path(project))
  await until('it is purged', () => database.first`select 1 from projects where id = ${project.id} and name = ''`, { withinMs: 30_000 })
  await database.run`insert into contacts (project_id, id) values (${project.id}, gen_random_uuid())`
  const before = await rowsOf(merged.id)
  await purgeProject.run(app.services, {})
  assert.deepEqual(await rowsOf(project.id), remaining)
  assert.deepEqual(await rowsOf(merged.id), before)
  const living = await app.newProject()
  for (const { id } of [merged, living]) await purgeProject.run(app.services, { project_id: id })
  assert.deepEqual(await rowsOf(merged.id), before)
  assert.deepEqual(await rowsOf(living.id), { api_keys: 1, members: 1 })
})

test('raw mail goes with the project, also what a merge brought, and nobody else’s', async () => {
  const { blobs } = app.services
  const [project, other] = [await app.newProject(), await app.newProject()]
  const [own, late, brought, kept] = [
    rawKey(project.id, newId()),
    rawKey(project.id, newId()),
    rawKey(newId(), newId()),
    rawKey(other.id, newId()),
  ]
  for (const key of [own, late, brought, kept]) await blobs.put(key, Buffer.from('Subject: Hello\r\n\r\n'))
  for (const [key, project_id] of [
    [own, project.id],
    [brought, project.id],
    [kept, other.id],
  ])
    await database.run`
      insert into emails (project_id, id, mailbox_id, direction, from_address, to_address, to_key, status, raw_key, created_at, updated_at)
      values (${project_id}, ${newId()}, gen_random_uuid(), 'inbound', 'a', 'b', 'b', 'received', ${key}, now(), now())`
  await purgeProject.run(app.services, { project_id: project.id })
  assert.notEqual(await blobs.get(own), null, 'it is not deleted yet')
  await project.delete(path(project))
  await purgeProject.run(app.services, { project_id: project.id })
  assert.deepEqual(await Promise.all([own, late, brought].map(blobs.get)), [null, null, null])
  assert.notEqual(await blobs.get(kept), null)
  await blobs.remove([kept])
})

test('what is still to be paid outlives the project until it is settled, and no longer', async () => {
  const [paid, free] = [await app.newProject(), await app.newProject()]
  for (const { id } of [paid, free]) {
    await database.run`insert into billing_accounts (project_id, customer_id, status, updated_at) values (${id}, 'cus_1', 'active', now())`
    await database.run`insert into usage_periods (project_id, period_start, used, overage) values (${id}, '2026-01-01', 9, 5)`
    await database.run`insert into usage_periods (project_id, period_start, used, overage) values (${id}, '2026-02-01', 9, 0)`
  }
  await database.run`update billing_accounts set status = 'canceled' where project_id = ${free.id}`
  for (const project of [paid, free]) {
    await project.delete(path(project))
    await purgeProject.run(app.services, { project_id: project.id })
    assert.deepEqual(await rowsOf(project.id), { billing_accounts: 1, events: 1, usage_periods: 1 })
    assert.notEqual(await database.first`select 1 from projects where id = ${project.id} and name = ''`, null)
  }
  await database.run`update usage_periods set billed_at = now() where project_id = any(${[paid.id, free.id]})`
  await database.run`update projects set deleted_at = deleted_at - interval '1 year' where id = any(${[paid.id, free.id]})`
  await purgeProject.run(app.services, {})
  assert.deepEqual(await rowsOf(paid.id), { billing_accounts: 1, events: 1 }, 'its subscription goes on')
  assert.deepEqual(await rowsOf(free.id), remaining)
})

test('what was sent this month and last counts on for the owner, and payments for a year and a half; then they go', async () => {
  const project = await app.newProject()
  const start = periodStart(app.clock.now())
  for (const back of [0, 1, 2])
    await database.run`
      insert into usage_periods (project_id, period_start, used)
      values (${project.id}, ${new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() - back, 1))}, 7)`
  for (const status of ['open', 'closed', 'charging', 'paid'])
    await database.run`
      insert into payment_challenges (project_id, id, user_id, operation, target, emails, amount_cents, body_digest, status, created_at, expires_at)
      values (${project.id}, ${newId()}, ${project.user_id}, 'emails.send', '', 1, 50, '', ${status}, now(), now())`
  await project.delete(path(project))
  await purgeProject.run(app.services, { project_id: project.id })
  assert.deepEqual(await rowsOf(project.id), { events: 1, payment_challenges: 2, usage_periods: 2 })
  await database.run`update usage_periods set period_start = period_start - interval '3 months' where project_id = ${project.id}`
  await purgeProject.run(app.services, {})
  assert.deepEqual(await rowsOf(project.id), { events: 1, payment_challenges: 2 })
})

test('rows that refer to one another go in the right order, also in tables made tomorrow', async () => {
  const project = await app.newProject()
  await database.execute(
    `create table aaa_parents (project_id uuid, id int, primary key (project_id, id));
     create table zzz_children (project_id uuid, id int, parent int, foreign key (project_id, parent) references aaa_parents (project_id, id))`,
  )
  try {
    await database.execute(`insert into aaa_parents values ('${project.id}', 1)`)
    await database.execute(`insert into zzz_children values ('${project.id}', 1, 1)`)
    await project.delete(path(project))
    await purgeProject.run(app.services, { project_id: project.id })
    assert.deepEqual(await rowsOf(project.id), remaining)
  } finally {
    await database.execute('drop table zzz_children; drop table aaa_parents')
  }
})

test('only an owner may, only from within, and never the first project of the installation', async () => {
  const [project, other] = [await app.newProject(), await app.newProject()]
  const admin = await project.addMember('admin')
  const refused = await admin.delete(path(project))
  assert.equal(refused.status, 403)
  assert.match(refused.body.error.message, /^Only an owner/)
  const { body: second } = await project.post('/api/projects', { name: 'Second' })
  for (const answer of [await project.delete(path(other)), await project.delete(`/api/projects/${second.id}`)])
    assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'])

  const { owner_project_id: project_id, owner_id: user_id } = (await findInstance(database)) ?? assert.fail()
  const key = makeKey(false)
  await database.transaction((tx) =>
    insertToken(tx, { project_id, user_id, name: 'test', key, scopes: [...scopes], mailbox_id: null, expires_at: null }),
  )
  const first = await speaking(app.url, key).delete(`/api/projects/${formatId('prj', project_id)}`)
  assert.deepEqual([first.status, first.body.error.code], [422, 'validation_error'])
  assert.equal(
    (await database.many`select 1 from projects where deleted_at is not null and id = any(${[project.id, other.id, project_id]})`).length,
    0,
  )
  assert.deepEqual([...(await project.events()), ...(await other.events())], [])
})

test('five deletes at once: one succeeds, and tells once', async () => {
  const project = await app.newProject()
  const answers = await Promise.all(Array.from({ length: 5 }, () => project.delete(path(project))))
  assert.deepEqual(
    answers
      .map((answer) => answer.status)
      .sort()
      .slice(0, 1),
    [204],
  )
  assert.ok(answers.filter((answer) => answer.status !== 204).every((answer) => [401, 404].includes(answer.status)))
  assert.deepEqual(await project.events(), ['project.deleted'])
})

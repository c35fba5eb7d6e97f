import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { type MailboxId, newId, parseId } from '../../base/ids.ts'
import { cleanUpMailboxes } from './index.ts'

const app = await startApp({ ROLES: 'http' })
const { database, blobs } = app.services
const dayMs = 86_400_000

const isStored = async (raw_key: string) => (await blobs.get(raw_key)) !== null
const cleanUp = () => cleanUpMailboxes.run(app.services, {})

interface Held {
  mailbox: string
  inbound_id?: string
  count?: number
}

/** E-mails as filing leaves them: a row each, and the raw message in the store. */
async function hold(project: TestProject, { mailbox, inbound_id = newId(), count = 1 }: Held): Promise<string> {
  const mailbox_id = parseId('mbx', mailbox) as MailboxId
  const raw_key = `raw/${project.id}/${inbound_id}`
  await blobs.put(raw_key, Buffer.from('Subject: Hello\r\n\r\n'))
  await database.run`
    insert into emails (project_id, id, mailbox_id, direction, inbound_id, from_address, to_address, to_key, status, raw_key, created_at, updated_at)
    values (${project.id}, ${newId()}, ${mailbox_id}, 'inbound', ${inbound_id}, 'a@example.org', 'b', 'b', 'received', ${raw_key}, now(), now())`
  if (count > 1)
    await database.run`
      insert into emails (project_id, id, mailbox_id, from_address, to_address, to_key, status, created_at, updated_at)
      select ${project.id}, gen_random_uuid(), ${mailbox_id}, 'a', 'b', 'b', 'sent', now(), now() from generate_series(2, ${count}::int)`
  await database.run`
    insert into proxy_addresses (project_id, mailbox_id, id, outside, outside_key, created_at)
    values (${project.id}, ${mailbox_id}, ${newId()}, 'a', ${newId()}, now())`
  await database.run`
    insert into calendar_events (project_id, id, mailbox_id, uid, title, created_at, updated_at)
    values (${project.id}, ${newId()}, ${mailbox_id}, ${newId()}, 'Lunch', now(), now())`
  return raw_key
}

/** How much of a mailbox is left. */
async function leftOf(project: TestProject, mailbox: string) {
  const mailbox_id = parseId('mbx', mailbox) as MailboxId
  const row = await database.first<Record<string, number>>`
    select (select count(*) from emails where project_id = ${project.id} and mailbox_id = ${mailbox_id}) as emails,
      (select count(*) from proxy_addresses where project_id = ${project.id} and mailbox_id = ${mailbox_id}) as proxies,
      (select count(*) from calendar_events where project_id = ${project.id} and mailbox_id = ${mailbox_id}) as invitations`
  return [row?.emails, row?.proxies, row?.invitations]
}

test('an ended mailbox stays for seven days, then it is deleted with what it held, and the event tells', async () => {
  const project = await app.newProject()
  const { body: brief } = await project.post('/mailboxes', { type: 'disposable', ttl: '1h' })
  const { body: kept } = await project.post('/mailboxes')
  const raw = await hold(project, { mailbox: brief.id, count: 2_500 })
  const keptRaw = await hold(project, { mailbox: kept.id })
  await project.events()

  app.clock.advance(7 * dayMs)
  await cleanUp()
  assert.deepEqual((await project.get(`/mailboxes/${brief.id}`)).body, brief)
  assert.deepEqual(await project.events(), [])
  assert.deepEqual(await leftOf(project, brief.id), [2_500, 1, 1])

  app.clock.advance(dayMs)
  await cleanUp()
  assert.equal((await project.get(`/mailboxes/${brief.id}`)).status, 404)
  assert.deepEqual(await project.eventsWithData(), [
    { type: 'mailbox.deleted', data: { mailbox_id: brief.id, mailbox: { ...brief, status: 'disabled' } } },
  ])
  assert.deepEqual(await leftOf(project, brief.id), [0, 0, 0])
  assert.ok(!(await isStored(raw)))
  assert.deepEqual(await leftOf(project, kept.id), [1, 1, 1])
  assert.ok(await isStored(keptRaw))
  await cleanUp()
  assert.deepEqual(await project.events(), [])
})

test('what a deleted mailbox held goes after seven days; a message that another mailbox has, too, stays for that one', async () => {
  const project = await app.newProject()
  const { body: first } = await project.post('/mailboxes')
  const { body: second } = await project.post('/mailboxes')
  const inbound_id = newId()
  const raw = await hold(project, { mailbox: first.id, inbound_id })
  await hold(project, { mailbox: second.id, inbound_id })
  await project.delete(`/mailboxes/${first.id}`)
  await project.events()
  app.clock.advance(6 * dayMs)
  await cleanUp()
  assert.deepEqual(await leftOf(project, first.id), [1, 1, 1])
  app.clock.advance(2 * dayMs)
  await cleanUp()
  assert.deepEqual(
    [await leftOf(project, first.id), await leftOf(project, second.id)],
    [
      [0, 0, 0],
      [1, 1, 1],
    ],
  )
  assert.ok(await isStored(raw))
  await project.delete(`/mailboxes/${second.id}`)
  app.clock.advance(8 * dayMs)
  await cleanUp()
  assert.ok(!(await isStored(raw)))
  assert.deepEqual(await project.events(), ['mailbox.deleted'])
})

test('of a mailbox that is gone nothing personal is left but its address, and that for 90 days', async () => {
  const project = await app.newProject()
  const { body: mailbox } = await project.post('/mailboxes', { name: 'Ann', config: { note: 'private' } })
  await project.delete(`/mailboxes/${mailbox.id}`)
  app.clock.advance(8 * dayMs)
  await cleanUp()
  const row = await database.first`
    select name, config, emptied_at is not null as is_empty from mailboxes where project_id = ${project.id} and address = ${mailbox.address}`
  assert.deepEqual(row, { name: null, config: null, is_empty: true })
  const retired = () => database.many`select 1 from retired_addresses where address_key = ${mailbox.address}`
  assert.equal((await retired()).length, 1)
  app.clock.advance(90 * dayMs)
  await cleanUp()
  assert.equal((await retired()).length, 0)
})

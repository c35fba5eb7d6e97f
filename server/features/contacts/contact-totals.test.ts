import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newSentPost } from '../../../tests/support/posts.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { pruneDeliveries } from '../../delivery/broadcast/retention.ts'
import { emptyMailbox } from '../mailboxes/empty-mailbox.ts'
import { repairContacts, wrongTotals } from './repair-contacts.ts'

// Without a sender: the ledger says what the test says.
const app = await startApp({ ROLES: 'http' })
const { database, log } = app.services

const contactOf = async (project: TestProject, search = 'reader-1@') => (await project.get(`/contacts?search=${search}`)).body[0]
const receivedBy = async (project: TestProject, search?: string) => {
  const { id, total_received } = await contactOf(project, search)
  assert.equal((await project.get(`/contacts/${id}`)).body.total_received, total_received)
  return total_received
}
const noneWrong = async (project: TestProject) =>
  assert.deepEqual(
    (await wrongTotals(database, new Date(0))).filter(({ project_id }) => project_id === project.id),
    [],
  )

async function send(project: TestProject, to: string): Promise<{ id: string; mailbox: string; address: string }> {
  const { body: mailbox } = await project.post('/mailboxes', { name: 'Sender' })
  const { status, body } = await project.post('/emails', { from: mailbox.address, to, subject: 'A receipt', text: 'Hello' })
  assert.equal(status, 201)
  return { id: body.id, mailbox: mailbox.id, address: mailbox.address }
}

test('what reached somebody counts, whichever way it came, and what did not does not', async () => {
  const { project } = await newSentPost(app, ['delivered', 'bounced', 'failed', 'complained'])
  assert.equal(await receivedBy(project), 1)
  assert.equal(await receivedBy(project, 'reader-2@'), 0)
  assert.equal(await receivedBy(project, 'reader-3@'), 0)
  assert.equal(await receivedBy(project, 'reader-4@'), 1)
  const email = await send(project, 'Reader-1@Example.org')
  assert.equal(await receivedBy(project), 2)
  await database.run`update emails set status = 'bounced' where project_id = ${project.id}`
  assert.equal(await receivedBy(project), 1, 'a bounce that comes later is no longer counted')
  await database.run`update emails set status = 'replied' where project_id = ${project.id}`
  assert.equal(await receivedBy(project), 2)
  const { id } = await contactOf(project)
  const { body } = await project.get(`/contacts/${id}/emails`)
  const shown = body.map((one: Record<string, unknown>) => [one.subject, one.status, one.post_id === null, one.list_name])
  assert.deepEqual(shown.sort(), [
    ['A receipt', 'delivered', true, ''],
    ['Hello', 'delivered', false, 'News'],
  ])
  assert.ok(body.some((one: { id: string }) => one.id === email.id))
})

test('what was pruned, and what was in a mailbox that is emptied, stays counted', async () => {
  const { project } = await newSentPost(app, ['delivered', 'bounced', 'complained'])
  await database.run`update deliveries set open_count = 2, click_count = 1 where project_id = ${project.id} and email = 'reader-1@example.org'`
  await database.run`
    update contacts set total_opens = 2, total_clicks = 1, last_activity_at = now() where project_id = ${project.id} and email = 'reader-1@example.org'`
  const { mailbox } = await send(project, 'reader-1@example.org')
  await noneWrong(project)
  await database.run`update broadcasts set reservation_id = null, finished_at = now() - interval '31 days' where project_id = ${project.id}`
  await pruneDeliveries({ database, log, now: app.clock.now() }, 30)
  assert.deepEqual(await database.many`select 1 from deliveries where project_id = ${project.id}`, [])
  await project.delete(`/mailboxes/${mailbox}`)
  const [row] = await database.many<{ id: never }>`select id from mailboxes where project_id = ${project.id} and deleted_at is not null`
  await emptyMailbox(app.services, { project_id: project.id, id: row?.id as never })
  assert.deepEqual(await database.many`select 1 from emails where project_id = ${project.id}`, [])
  assert.deepEqual([await receivedBy(project), await receivedBy(project, 'reader-2@'), await receivedBy(project, 'reader-3@')], [2, 0, 1])
  const { total_opens, total_clicks } = await contactOf(project)
  assert.deepEqual([total_opens, total_clicks], [2, 1])
  await noneWrong(project)
})

test('totals that are off are mended, and so are the counts of groups; right ones are left alone', async () => {
  const { project } = await newSentPost(app, ['delivered', 'delivered'])
  await database.run`update deliveries set open_count = 2, click_count = 1 where project_id = ${project.id}`
  await database.run`update contacts set total_opens = 2, total_clicks = 1, last_activity_at = now() where project_id = ${project.id}`
  await database.run`update contacts set total_opens = 7, total_clicks = 0 where project_id = ${project.id} and email = 'reader-1@example.org'`
  const { body: group } = await project.post('/contact-groups', { name: 'Readers' })
  const { id } = await contactOf(project)
  await project.post(`/contact-groups/${group.id}/contacts`, { contact_ids: [id] })
  await database.run`update contact_groups set contact_count = 9 where project_id = ${project.id}`
  await project.events()
  await repairContacts.run(app.services, {})
  for (const search of ['reader-1@', 'reader-2@']) {
    const { total_opens, total_clicks } = await contactOf(project, search)
    assert.deepEqual([total_opens, total_clicks], [2, 1])
  }
  assert.equal((await project.get(`/contact-groups/${group.id}`)).body.contact_count, 1)
  assert.deepEqual(await project.events(), [])
})

test('who was there before past replies were kept keeps the total; from the first night on it is proved', async () => {
  const { project } = await newSentPost(app, ['delivered'])
  const state = () => database.first`select total_replies, past_replies from contacts where project_id = ${project.id}`
  await database.run`update contacts set total_replies = 3, past_replies = null, last_activity_at = now() where project_id = ${project.id}`
  await noneWrong(project)
  await repairContacts.run(app.services, {})
  assert.deepEqual(await state(), { total_replies: 3, past_replies: 3 })
  await database.run`update contacts set total_replies = 5 where project_id = ${project.id}`
  await repairContacts.run(app.services, {})
  assert.deepEqual(await state(), { total_replies: 3, past_replies: 3 })
})

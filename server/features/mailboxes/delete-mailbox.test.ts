import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'

const app = await startApp({ ROLES: 'http' })
const { database } = app.services
const dayMs = 86_400_000

test('a deleted mailbox is gone at once, its keys end, and its event tells', async () => {
  const project = await app.newProject()
  const { body: mailbox } = await project.post('/mailboxes', { address: 'gone@posthaste.test', name: 'Gone' })
  const { body: token } = await project.post('/api/tokens', { name: 'Bound', scope: 'read', mailbox_id: mailbox.id })
  const bound = speaking(app.url, token.key)
  assert.equal((await bound.get(`/mailboxes/${mailbox.id}`)).status, 200)
  await project.events()
  const { status, body } = await project.delete(`/mailboxes/${mailbox.id}`)
  assert.deepEqual([status, body], [204, null])
  assert.deepEqual(await project.eventsWithData(), [
    { type: 'mailbox.deleted', data: { mailbox_id: mailbox.id, mailbox: { ...mailbox, status: 'disabled' } } },
  ])
  for (const answer of [
    await project.get(`/mailboxes/${mailbox.id}`),
    await project.patch(`/mailboxes/${mailbox.id}`, { status: 'active' }),
    await project.delete(`/mailboxes/${mailbox.id}`),
  ])
    assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'])
  assert.deepEqual((await project.get('/mailboxes')).body, [])
  await until('its key is refused', async () => (await bound.get(`/mailboxes/${mailbox.id}`)).status === 401, { withinMs: 1_000 })
  const sent = await project.post('/emails', { from: mailbox.address, to: 'a@example.org', subject: 'Hi', text: 'Hi' })
  assert.equal(sent.status, 422)
  assert.deepEqual(await project.events(), [])
})

test('the project may have the address again; others wait 90 days, and get it neither for a list', async () => {
  const [project, other] = [await app.newProject(), await app.newProject()]
  const address = 'heirloom@posthaste.test'
  const { body: first } = await project.post('/mailboxes', { address })
  await project.delete(`/mailboxes/${first.id}`)
  assert.match((await other.post('/mailboxes', { address })).body.error.message, /^address: is taken/)
  assert.equal((await other.post('/lists', { name: 'Heirloom' })).body.mailbox_address, 'heirloom-2@posthaste.test')
  const again = await project.post('/mailboxes', { address })
  assert.equal(again.status, 201)
  assert.notEqual(again.body.id, first.id)
  await project.delete(`/mailboxes/${again.body.id}`)
  app.clock.advance(91 * dayMs)
  assert.equal((await other.post('/mailboxes', { address })).status, 201)
})

test('the address of a list goes with the list only', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Lasting' })
  await project.events()
  const { status, body } = await project.delete(`/mailboxes/${list.mailbox_id}`)
  assert.deepEqual([status, body.error.code], [422, 'validation_error'])
  assert.match(body.error.message, /^id: is the address of the list “Lasting”\. Delete the list/)
  assert.equal((await project.get(`/mailboxes/${list.mailbox_id}`)).body.status, 'active')
  assert.deepEqual(await project.events(), [])
})

test('of ten who delete it at once one does, and the event is one', async () => {
  const project = await app.newProject()
  const { body: mailbox } = await project.post('/mailboxes')
  await project.events()
  const answers = await Promise.all(Array.from({ length: 10 }, () => project.delete(`/mailboxes/${mailbox.id}`)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [204, ...Array(9).fill(404)])
  assert.deepEqual(await project.events(), ['mailbox.deleted'])
  const rows = await database.many`select 1 from mailboxes where project_id = ${project.id} and deleted_at is not null`
  assert.equal(rows.length, 1)
})

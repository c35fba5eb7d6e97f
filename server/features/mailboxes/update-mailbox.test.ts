import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'

const app = await startApp({ ROLES: 'http' })
const { database } = app.services
const inDays = (days: number) => new Date(app.clock.now().getTime() + days * 86_400_000).toISOString()

async function newMailbox(body: object = {}) {
  const project = await app.newProject()
  const { body: mailbox } = await project.post('/mailboxes', body)
  await project.events()
  return { project, mailbox, path: `/mailboxes/${mailbox.id}` }
}

test('every field can be changed, and the event carries the mailbox as it is then', async () => {
  const { project, mailbox, path } = await newMailbox({ config: { old: true } })
  const changes = { name: 'Desk', status: 'paused', config: { fresh: [1, { a: null }] }, expires_at: inDays(3) }
  const { status, body } = await project.patch(path, changes)
  assert.equal(status, 200)
  assert.deepEqual(body, { ...mailbox, ...changes })
  assert.deepEqual((await project.get(path)).body, body)
  assert.deepEqual(await project.eventsWithData(), [{ type: 'mailbox.updated', data: { mailbox_id: mailbox.id, mailbox: body } }])
  const audit = await database.many<{ operation: string }>`
    select operation from audit_log where project_id = ${project.id} and operation = 'mailboxes.update'`
  assert.equal(audit.length, 1)
})

test('what is left out stays, null empties, and each status can follow each', async () => {
  const { project, mailbox, path } = await newMailbox({ type: 'disposable', name: 'Brief', config: { a: 1 } })
  assert.deepEqual((await project.patch(path, { name: null })).body, { ...mailbox, name: null })
  assert.deepEqual((await project.patch(path, { config: null })).body, { ...mailbox, name: null, config: null })
  assert.deepEqual((await project.patch(path, { expires_at: null })).body, { ...mailbox, name: null, config: null, expires_at: null })
  for (const status of ['disabled', 'paused', 'active', 'disabled', 'active', 'paused'])
    assert.equal((await project.patch(path, { status })).body.status, status)
})

test('fields that cannot be changed, and unknown ones, are ignored', async () => {
  const { project, mailbox, path } = await newMailbox()
  const strange = {
    id: 'x',
    address: 'other@posthaste.test',
    type: 'proxy',
    list_id: null,
    email_count: 7,
    deleted_at: inDays(1),
    name: 'N',
  }
  assert.deepEqual((await project.patch(path, strange)).body, { ...mailbox, name: 'N' })
})

test('a change that changes nothing publishes nothing', async () => {
  const { project, mailbox, path } = await newMailbox({ name: 'Same', config: { b: 1, a: [2] } })
  for (const body of [undefined, {}, { name: ' Same ' }, { status: 'active', config: { a: [2], b: 1 }, expires_at: null }]) {
    const answer = await project.patch(path, body)
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.body, mailbox)
  }
  assert.deepEqual(await project.events(), [])
})

test('a mailbox whose end has come can be given another', async () => {
  const { project, mailbox, path } = await newMailbox({ type: 'disposable', ttl: 60 })
  app.clock.advance(120_000)
  assert.deepEqual((await project.get(path)).body, mailbox)
  const expires_at = inDays(1)
  assert.equal((await project.patch(path, { expires_at })).body.expires_at, expires_at)
})

test('what is wrong is named, and nothing is changed', async () => {
  const { project, mailbox, path } = await newMailbox({ type: 'proxy', config: { forward_to: 'me@example.org' } })
  const cases: [unknown, RegExp][] = [
    [{ name: '' }, /^name: must not be empty/],
    [{ name: 5 }, /^name: must be a string/],
    [{ name: 'x'.repeat(201) }, /^name: must have at most 200/],
    [{ status: 'deleted' }, /^status: must be one of active, paused, disabled/],
    [{ status: null }, /^status: /],
    [{ config: [] }, /^config: must be an object/],
    [{ config: { a: 'x'.repeat(16_384) } }, /^config: must have at most 16384 bytes/],
    [{ config: {} }, /^config\.forward_to: is required/],
    [{ config: null }, /^config\.forward_to: is required/],
    [{ config: { forward_to: 'x' } }, /^config\.forward_to: has no @/],
    [{ config: { forward_to: mailbox.address } }, /^config\.forward_to: must be an address elsewhere/],
    [{ expires_at: inDays(-1) }, /^expires_at: must be in the future/],
    [{ expires_at: inDays(31) }, /^expires_at: must be at most 30 days ahead/],
    [{ expires_at: 'x' }, /^expires_at: must be an ISO 8601 time/],
    [{ name: 'New', expires_at: inDays(40) }, /^expires_at: /],
    [[], /^body: must be an object/],
  ]
  for (const [body, message] of cases) {
    const answer = await project.patch(path, body)
    assert.equal(answer.status, 422, JSON.stringify(body))
    assert.match(answer.body.error.message, message)
  }
  assert.deepEqual((await project.get(path)).body, mailbox)
  assert.deepEqual(await project.events(), [])
})

test('the address of a list can be paused, and has no end of its own', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Endless' })
  const path = `/mailboxes/${list.mailbox_id}`
  await project.events()
  assert.equal((await project.patch(path, { status: 'paused' })).body.status, 'paused')
  const refused = await project.patch(path, { expires_at: inDays(1) })
  assert.deepEqual([refused.status, refused.body.error.message.split(':')[0]], [422, 'expires_at'])
  assert.deepEqual(await project.events(), ['mailbox.updated'])
})

test('twenty changes of different fields at once are all kept', async () => {
  const { project, path } = await newMailbox()
  const changes = [{ name: 'A' }, { status: 'paused' }, { config: { x: 1 } }, { name: 'A' }]
  const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => project.patch(path, changes[index % 4])))
  assert.ok(answers.every(({ status }) => status === 200))
  const { name, status, config } = (await project.get(path)).body
  assert.deepEqual({ name, status, config }, { name: 'A', status: 'paused', config: { x: 1 } })
})

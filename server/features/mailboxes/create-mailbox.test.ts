import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { type ListId, type MailboxId, newId, parseId } from '../../base/ids.ts'
import { adjectives, animals } from './readable-name.ts'

const app = await startApp({ ROLES: 'http' })
const { database } = app.services
const dayMs = 86_400_000

/** Whole seconds between now and then, by the program's clock. */
const secondsUntil = (time: string) => Math.round((Date.parse(time) - app.clock.now().getTime()) / 1000)

test('an address, a name and a config make a persistent mailbox, and the event carries it', async () => {
  const project = await app.newProject()
  const wanted = { address: 'Anna.Lee@Posthaste.Test', name: ' Anna ', config: { colour: 'blue', deep: { a: [1] } } }
  const { status, body } = await project.post('/mailboxes', wanted)
  assert.equal(status, 201)
  assert.match(body.id, /^mbx_[0-9a-z]{26}$/)
  assert.deepEqual(
    { ...body, id: 0, created_at: 0 },
    {
      id: 0,
      address: 'anna.lee@posthaste.test',
      local_part: 'anna.lee',
      domain: 'posthaste.test',
      name: 'Anna',
      type: 'persistent',
      status: 'active',
      list_id: null,
      config: wanted.config,
      expires_at: null,
      created_at: 0,
    },
  )
  assert.deepEqual(await project.eventsWithData(), [{ type: 'mailbox.created', data: { mailbox_id: body.id, mailbox: body } }])
  assert.deepEqual((await project.get(`/mailboxes/${body.id}`)).body, body)
  const audit = await database.many<{ operation: string }>`select operation from audit_log where project_id = ${project.id}`
  assert.deepEqual(audit, [{ operation: 'mailboxes.create' }])
})

test('without an address it gets a readable one, whatever its type; a disposable one ends after a day', async () => {
  const project = await app.newProject()
  for (const body of [undefined, {}, { type: 'disposable' }, { type: 'proxy', config: { forward_to: 'me@example.org' } }]) {
    const answer = await project.post('/mailboxes', body)
    assert.equal(answer.status, 201, JSON.stringify(answer.body))
    const [adjective, animal] = answer.body.local_part.split('-')
    assert.ok(adjectives.includes(adjective) && animals.includes(animal), answer.body.address)
    assert.equal(answer.body.domain, 'posthaste.test')
    assert.equal(answer.body.type, body?.type ?? 'persistent')
    if (body?.type === 'disposable') assert.equal(secondsUntil(answer.body.expires_at), 86_400)
    else assert.equal(answer.body.expires_at, null)
  }
})

test('a lifetime is told as ttl or as a time, at most 30 days ahead', async () => {
  const project = await app.newProject()
  const cases: [unknown, number][] = [
    ['1h', 3600],
    ['7d', 7 * 86_400],
    ['45m', 2700],
    ['30d', 30 * 86_400],
    [90, 90],
    ['90', 90],
  ]
  for (const [ttl, seconds] of cases) {
    const { status, body } = await project.post('/mailboxes', { type: 'disposable', ttl })
    assert.equal(status, 201)
    assert.ok(Math.abs(secondsUntil(body.expires_at) - seconds) <= 2, `${ttl}: ${body.expires_at}`)
  }
  const expires_at = new Date(app.clock.now().getTime() + 30 * dayMs).toISOString()
  const { body } = await project.post('/mailboxes', { type: 'disposable', expires_at, domain: 'Posthaste.test' })
  assert.equal(body.expires_at, expires_at)
})

test('what is wrong is named, and nothing is made', async () => {
  const project = await app.newProject()
  const other = await app.newProject()
  const { body: theirs } = await other.post('/lists', { name: 'Theirs' })
  const inDays = (days: number) => new Date(app.clock.now().getTime() + days * dayMs).toISOString()
  const cases: [unknown, RegExp][] = [
    [{ address: 'nobody' }, /^address: has no @/],
    [{ address: 5 }, /^address: must be a string/],
    [{ address: 'ann@example.org' }, /^address: must end with @posthaste\.test/],
    [{ address: 'ann@sub.posthaste.test' }, /^address: must end with/],
    [{ address: 'ann+b@posthaste.test' }, /^address: must not have a \+/],
    [{ address: 'аnn@posthaste.test' }, /^address: may have letters a to z/],
    [{ address: 'ann!@posthaste.test' }, /^address: may have letters/],
    [{ address: '-ann@posthaste.test' }, /^address: may have letters/],
    [{ address: 'ann_@posthaste.test' }, /^address: may have letters/],
    ...['postmaster', 'abuse', 'b', 'unsubscribe', 'reply', 'noreply', 'no-reply', 'Admin', 'security', 'hostmaster', 'webmaster'].map(
      (name): [unknown, RegExp] => [{ address: `${name}@posthaste.test` }, /^address: is kept for this installation/],
    ),
    ...['mailer-daemon', 'post.master', 'mailer_daemon', 'n.o-reply'].map((name): [unknown, RegExp] => [
      { address: `${name}@posthaste.test` },
      /^address: is kept for this installation/,
    ]),
    [{ type: 'shared' }, /^type: must be one of persistent, disposable, proxy/],
    [{ name: '' }, /^name: must not be empty/],
    [{ name: 'x'.repeat(201) }, /^name: must have at most 200/],
    [{ name: 'a\r\nBcc: b' }, /^name: must be one line/],
    [{ config: 'x' }, /^config: must be an object/],
    [{ config: { a: 'x'.repeat(16_384) } }, /^config: must have at most 16384 bytes/],
    [{ type: 'disposable', ttl: '31d' }, /^ttl: must be at most 30 days/],
    [{ type: 'disposable', ttl: 'soon' }, /^ttl: must be a duration such as 45m/],
    [{ type: 'disposable', ttl: 0 }, /^ttl: must be at least a second/],
    [{ type: 'disposable', expires_at: inDays(31) }, /^expires_at: must be at most 30 days ahead/],
    [{ type: 'disposable', expires_at: inDays(-1) }, /^expires_at: must be in the future/],
    [{ type: 'disposable', expires_at: 'tomorrow' }, /^expires_at: must be an ISO 8601 time/],
    [{ type: 'disposable', expires_at: inDays(1), ttl: '1h' }, /^expires_at: says the same as ttl/],
    [{ domain: 'example.org' }, /^domain: is no domain that mail comes here for/],
    [{ domain: 'posthaste.test', address: 'x@example.org' }, /^domain: is for an address that is made for you/],
    [{ list_id: 'lst_1' }, /^list_id: /],
    [{ list_id: theirs.id }, /^list_id: names no list of this project/],
    [{ type: 'proxy' }, /^config\.forward_to: is required for a proxy mailbox/],
    [{ type: 'proxy', config: { forward_to: 5 } }, /^config\.forward_to: is required/],
    [{ type: 'proxy', config: { forward_to: 'nobody' } }, /^config\.forward_to: has no @/],
    [{ type: 'proxy', config: { forward_to: 'a@Posthaste.test' } }, /^config\.forward_to: must be an address elsewhere/],
  ]
  for (const [body, message] of cases) {
    const answer = await project.post('/mailboxes', body)
    assert.equal(answer.status, 422, JSON.stringify(body))
    assert.equal(answer.body.error.code, 'validation_error')
    assert.match(answer.body.error.message, message)
  }
  assert.deepEqual(await project.events(), [])
  assert.deepEqual((await project.get('/mailboxes')).body, [])
})

test('an address is one project’s alone, in whatever spelling, and the answer does not tell whose', async () => {
  const [project, other] = [await app.newProject(), await app.newProject()]
  assert.equal((await project.post('/mailboxes', { address: 'one@posthaste.test' })).status, 201)
  await project.post('/lists', { name: 'Chronicle' })
  const id = newId<'usr'>()
  await database.run`insert into users (id, kind, email, email_key) values (${id}, 'human', 'x', 'boss@posthaste.test')`
  await database.run`insert into users (id, kind, email, email_key) values (${newId<'usr'>()}, 'human', 'x', 'chief+mail@posthaste.test')`
  await project.post('/invites', { email: 'asked+here@posthaste.test' })
  await other.events()
  for (const name of ['one', 'ONE', 'chronicle', 'boss', 'chief', 'asked']) {
    const answer = await other.post('/mailboxes', { address: `${name}@posthaste.test` })
    assert.deepEqual([answer.status, answer.body.error.message], [422, 'address: is taken; choose another'], name)
  }
  assert.deepEqual(await other.events(), [])
})

test('who asks first at the same moment gets it; the others are told, and lists take turns with them', async () => {
  const project = await app.newProject()
  const asks = Array.from({ length: 10 }, () => project.post('/mailboxes', { address: 'rush@posthaste.test' }))
  const lists = Array.from({ length: 5 }, () => project.post('/lists', { name: 'Rush' }))
  const answers = await Promise.all(asks)
  const made = await Promise.all(lists)
  assert.ok(made.every(({ status }) => status === 201))
  assert.ok(answers.every(({ status }) => status === 201 || status === 422))
  const rows = await database.many<{ address: string }>`
    select address from mailboxes where project_id = ${project.id} and address_key = 'rush@posthaste.test'`
  assert.equal(rows.length, 1)
})

test('thirty readable addresses at once are thirty', async () => {
  const project = await app.newProject()
  const answers = await Promise.all(Array.from({ length: 30 }, () => project.post('/mailboxes', { type: 'disposable' })))
  assert.ok(answers.every(({ status }) => status === 201))
  assert.equal(new Set(answers.map(({ body }) => body.address)).size, 30)
})

test('a mailbox is tied to a list, and stays when the list goes', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Tied' })
  const { body: mailbox } = await project.post('/mailboxes', { address: 'tied-letters@posthaste.test', list_id: list.id })
  assert.equal(mailbox.list_id, list.id)
  const row = await database.first<{ list_id: ListId }>`
    select list_id from mailboxes where project_id = ${project.id} and id = ${parseId('mbx', mailbox.id) as MailboxId}`
  assert.equal(row?.list_id, parseId('lst', list.id))
  await project.events()
  assert.equal((await project.delete(`/lists/${list.id}`)).status, 204)
  assert.deepEqual((await project.get(`/mailboxes/${mailbox.id}`)).body, { ...mailbox, list_id: null })
  assert.deepEqual(await project.events(), ['mailbox.deleted', 'mailbox.updated', 'list.deleted'])
})

test('a proxy keeps where it passes mail on to, in the form of an address', async () => {
  const project = await app.newProject()
  const { body } = await project.post('/mailboxes', { type: 'proxy', config: { forward_to: ' Me@Example.ORG ', more: 1 } })
  assert.deepEqual(body.config, { forward_to: 'Me@example.org', more: 1 })
})

test('names of the installation are for who runs it, but for those that the program itself reads', async () => {
  const project = await app.newProject()
  const before = await database.first<{ owner_project_id: string }>`select owner_project_id from instance`
  await database.run`update instance set owner_project_id = ${project.id}`
  try {
    assert.equal((await project.post('/mailboxes', { address: 'postmaster@posthaste.test' })).status, 201)
    for (const name of ['b', 'unsubscribe', 'reply', 'mailer-daemon'])
      assert.equal((await project.post('/mailboxes', { address: `${name}@posthaste.test` })).status, 422, name)
  } finally {
    await database.run`update instance set owner_project_id = ${before?.owner_project_id}`
  }
})

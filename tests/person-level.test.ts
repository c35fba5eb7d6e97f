import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatId } from '../server/base/ids.ts'
import { allOperations } from '../server/operations/all-operations.ts'
import { scopes } from '../server/operations/context.ts'
import { newPerson } from './support/oauth.ts'
import { ask, assertRefused, bodyOf, makeFixtures, pathOf, stateOf } from './support/operations.ts'
import { startApp } from './support/posthaste.ts'
import { capturedFor, newVisitor, signIn } from './support/visitor.ts'

/** What reaches beyond a project, for the person behind a credential, and who must not have it. */
const app = await startApp({ ALLOW_PRIVATE_WEBHOOKS: 'true' })
const { database } = app.services

for (const operation of allOperations.filter(({ actsForPerson }) => actsForPerson)) {
  test(`${operation.id} is refused to a key that may do less than its maker, and to what an app has made`, async () => {
    const project = await app.newProject()
    const fixtures = await makeFixtures(app, project)
    const before = await stateOf(app, project)
    const lesser = [await project.withKey(['admin']), await project.withKey(['read', 'write', 'admin'])]
    const made = await project.withKey(scopes)
    await database.run`update api_keys set grant_id = 'an app' where project_id = ${project.id} and hash = sha256(convert_to(${made.key}, 'UTF8'))`
    for (const who of [...lesser, made]) {
      const answer = await ask(who, operation, { path: pathOf(operation, fixtures), body: bodyOf(operation, fixtures) })
      assertRefused(answer, 403, 'forbidden', operation.id)
    }
    assert.equal(await stateOf(app, project), before)
    assert.deepEqual(await project.events(), [])
  })
}

test('a lesser key neither makes nor unmakes owners, and sees no invite from elsewhere', async () => {
  const [ours, theirs] = [await app.newProject(), await app.newProject()]
  const member = await ours.addMember('editor')
  const second = await ours.addMember('owner')
  const admin = await ours.withKey(['admin'])
  assertRefused(await admin.post('/invites', { email: 'new@example.org', role: 'owner' }), 403, 'forbidden', 'invite')
  for (const [who, role] of [
    [member, 'owner'],
    [second, 'viewer'],
  ] as const)
    assertRefused(await admin.patch(`/members/${formatId('usr', who.user_id)}`, { role }), 403, 'forbidden', role)
  assertRefused(await admin.delete(`/members/${formatId('usr', second.user_id)}`), 403, 'forbidden', 'remove')
  await theirs.post('/invites', { email: ours.email, role: 'viewer' })
  assert.deepEqual((await admin.get('/invites')).body, [])
  assert.equal((await ours.get('/invites')).body.length, 1)
})

test('the address that somebody signs in with, or is invited by, is nobody’s mailbox; and a mailbox proves nobody', async () => {
  const project = await app.newProject()
  const person = await newPerson(app)
  await database.run`update users set email = 'boss@posthaste.test', email_key = 'boss@posthaste.test' where id = ${person.user_id}`
  await project.post('/invites', { email: 'chief@posthaste.test' })
  for (const [name, taken] of [
    ['Boss', 'boss@posthaste.test'],
    ['Chief', 'chief@posthaste.test'],
    ['Owner', 'owner@posthaste.test'],
    ['Security', 'security@posthaste.test'],
  ] as const)
    assert.notEqual((await project.post('/lists', { name })).body.mailbox_address, taken)

  const { body: list } = await project.post('/lists', { name: 'Letters' })
  for (const address of [list.mailbox_address, list.mailbox_address.replace('@', '+a@')]) {
    app.clock.advance(61_000)
    const asked = await newVisitor(app.url).post('/sign-in', { email: address })
    assert.equal(asked.status, 303)
    const [mail] = await capturedFor(app, address)
    if (mail) assert.doesNotMatch(mail.text ?? '', /\b\d{6}\b/)
  }
})

test('strangers who ask for codes do not keep a browser out that has signed in before', async () => {
  const email = 'popular@example.org'
  const visitor = await signIn(app, email)
  app.clock.advance(61_000)
  for (let peer = 1; peer <= 10; peer++) {
    await newVisitor(app.url).post('/sign-in', { email }, { 'x-forwarded-for': `192.0.2.${peer}` })
  }
  const fresh = await newVisitor(app.url).post('/sign-in', { email }, { 'x-forwarded-for': '192.0.2.99' })
  assert.equal(fresh.status, 429)
  await visitor.post('/sign-out')
  assert.equal((await visitor.post('/sign-in', { email }, { 'x-forwarded-for': '192.0.2.100' })).status, 303)
})

test('codes and invitations go to the address as the account has it', async () => {
  await signIn(app, 'alice@corp.example')
  app.clock.advance(61_000)
  await fetch(`${app.url}/agent/auth`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'identity_assertion', assertions: [{ type: 'verified_email', email: 'ALICE@corp.example' }] }),
  })
  assert.deepEqual(await capturedFor(app, 'ALICE@corp.example'), [])
})

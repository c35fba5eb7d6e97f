import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, assertRefused, bodyOf, makeFixtures, pathOf, stateOf } from '../../../tests/support/operations.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { type Answer, speaking, type TestProject } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { formatId, newId } from '../../base/ids.ts'
import { allOperations } from '../../operations/all-operations.ts'
import { roles } from '../../operations/context.ts'

const app = await startApp({ ALLOW_PRIVATE_WEBHOOKS: 'true' })
const { database } = app.services
const idOf = (member: TestProject) => formatId('usr', member.user_id)
const path = (member: TestProject) => `/members/${idOf(member)}`

async function rolesOf(project: TestProject): Promise<Record<string, string>> {
  const rows = await database.many<{ user_id: string; role: string }>`select * from members where project_id = ${project.id}`
  return Object.fromEntries(rows.map((row) => [row.user_id, row.role]))
}

function assertForbidden({ status, body }: Answer, message: RegExp): void {
  assert.deepEqual([status, body.error.code], [403, 'forbidden'])
  assert.match(body.error.message, message)
}

test('members are listed with their roles, to whoever may read', async () => {
  const project = await app.newProject()
  const viewer = await project.addMember('viewer')
  const { status, body } = await viewer.get('/members')
  assert.equal(status, 200)
  const { created_at, ...first } = body[0]
  assert.ok(new Date(created_at) <= new Date())
  assert.deepEqual(first, { id: idOf(project), email: project.email, name: null, kind: 'human', role: 'owner' })
  assert.deepEqual([body.length, body[1].id, body[1].role], [2, idOf(viewer), 'viewer'])
  assert.deepEqual(await project.events(), [])
})

test('a role is changed, and the member’s keys follow within a second, up and down', async () => {
  const project = await app.newProject()
  const member = await project.addMember('admin')
  assert.equal((await member.post('/lists', { name: 'As admin' })).status, 201)
  assert.equal((await member.get('/api/tokens')).status, 200)
  await project.events()
  const { status, body } = await project.patch(path(member), { role: 'editor' })
  assert.equal(status, 200)
  assert.deepEqual([body.id, body.email, body.role], [idOf(member), member.email, 'editor'])
  await until('admin is gone', async () => (await member.get('/api/tokens')).status === 403, { withinMs: 1_000 })
  assert.equal((await member.get('/api/me')).body.role, 'editor')
  await project.patch(path(member), { role: 'viewer' })
  await until('write is gone', async () => (await member.post('/lists', {})).status === 403, { withinMs: 1_000 })
  await project.patch(path(member), { role: 'admin' })
  await until('admin is back', async () => (await member.get('/api/tokens')).status === 200, { withinMs: 1_000 })
  assert.deepEqual(await project.events(), [])
  const audit = await database.many`select 1 from audit_log where project_id = ${project.id} and operation = 'members.update'`
  assert.equal(audit.length, 3)
})

test('a removed member’s keys end within a second, and do not come back with them', async () => {
  const project = await app.newProject()
  const member = await project.addMember('editor')
  await database.run`
    insert into oauth_grants (project_id, id, grant_id, user_id, client_id, client_name, scopes, created_at)
    values (${project.id}, ${newId()}, ${newId()}, ${member.user_id}, 'app', 'App', '{read}', now())`
  assert.equal((await member.get('/lists')).status, 200)
  const { status, body } = await project.delete(path(member))
  assert.deepEqual([status, body], [204, null])
  await until('the key is refused', async () => (await member.get('/lists')).status === 401, { withinMs: 1_000 })
  assert.equal((await project.get('/members')).body.length, 1)
  assert.equal((await database.many`select 1 from oauth_grants where project_id = ${project.id}`).length, 0)
  await database.run`insert into members (project_id, user_id, role) values (${project.id}, ${member.user_id}, 'viewer')`
  assert.equal((await member.get('/lists')).status, 401)
  assert.equal((await project.delete(`/members/${formatId('usr', newId())}`)).status, 404)
  assert.deepEqual(await project.events(), [])
})

test('only an owner may make or unmake owners', async () => {
  const project = await app.newProject()
  const [admin, editor, second] = [await project.addMember('admin'), await project.addMember('editor'), await project.addMember('owner')]
  const before = await rolesOf(project)
  for (const target of [admin, editor]) assertForbidden(await admin.patch(path(target), { role: 'owner' }), /^Only an owner/)
  for (const target of [project, second]) {
    for (const role of roles) assertForbidden(await admin.patch(path(target), { role }), /^Only an owner/)
    assertForbidden(await admin.delete(path(target)), /^Only an owner/)
  }
  assert.deepEqual(await rolesOf(project), before)
  assert.equal((await admin.patch(path(editor), { role: 'admin' })).status, 200)
  assert.equal((await second.patch(path(admin), { role: 'owner' })).status, 200)
  assert.equal((await second.patch(path(project), { role: 'viewer' })).status, 200)
  assert.deepEqual(await project.events(), [])
})

test('the last owner can be neither removed nor made less, and is told what to do', async () => {
  const project = await app.newProject()
  const admin = await project.addMember('admin')
  for (const [answer, field] of [
    [await project.patch(path(project), { role: 'admin' }), 'role'],
    [await project.delete(path(project)), 'id'],
  ] as const) {
    assert.deepEqual([answer.status, answer.body.error.code], [422, 'validation_error'])
    assert.match(answer.body.error.message, new RegExp(`^${field}: .*without an owner. Make somebody else an owner first`))
  }
  await project.patch(path(admin), { role: 'owner' })
  await database.run`update users set disabled_at = now() where id = ${admin.user_id}`
  assert.equal((await project.delete(path(project))).status, 422, 'who is switched off is no owner to leave it with')
  assert.deepEqual(await project.events(), [])
})

test('two owners who remove each other at once leave one', async () => {
  for (let round = 0; round < 5; round++) {
    const project = await app.newProject()
    const second = await project.addMember('owner')
    await Promise.all([
      project.delete(path(second)),
      second.delete(path(project)),
      project.delete(path(project)),
      second.delete(path(second)),
    ])
    assert.deepEqual(Object.values(await rolesOf(project)), ['owner'])
  }
})

test('an owner who leaves passes the project on, with its address', async () => {
  const project = await app.newProject()
  const [admin, second] = [await project.addMember('admin'), await project.addMember('owner')]
  assert.equal((await project.delete(path(project))).status, 204)
  const { body: me } = await until('the address is the new owner’s', async () => {
    const answer = await second.get('/api/me')
    return answer.body.project.space.startsWith(`${answer.body.user.slug}/`) && answer
  })
  const response = await fetch(`${app.url}/${me.project.space}/v1/members`, { headers: { authorization: `Bearer ${admin.key}` } })
  assert.equal(response.status, 200)
  const owner = await database.first<{ owner_id: string }>`select owner_id from projects where id = ${project.id}`
  assert.equal(owner?.owner_id, second.user_id)
})

test('everybody may leave by themselves, but not through a key that may do less than they', async () => {
  const project = await app.newProject()
  for (const role of ['admin', 'editor', 'viewer'] as const) {
    const member = await project.addMember(role)
    if (role !== 'viewer') assertForbidden(await (await member.withKey(['read'])).delete(path(member)), /^This key may do less than you/)
    assert.equal((await member.delete(path(member))).status, 204, role)
  }
  assert.deepEqual(await rolesOf(project), { [project.user_id]: 'owner' })
})

test('a viewer is refused whatever changes something, also through a key that was made for all', async () => {
  const project = await app.newProject()
  const fixtures = await makeFixtures(app, project)
  const viewer = await project.addMember('viewer')
  assert.deepEqual((await viewer.get('/api/me')).body.scopes, ['read'])
  await project.events()
  const before = await stateOf(app, project)
  for (const operation of allOperations.filter(({ scope }) => scope === 'admin' || scope === 'write' || scope === 'send')) {
    const answer = await ask(viewer, operation, { path: pathOf(operation, fixtures), body: bodyOf(operation, fixtures) })
    assertRefused(answer, 403, 'forbidden', operation.id)
  }
  assertForbidden(await viewer.delete(path(project)), /lacks the scope "admin"/)
  assert.equal(await stateOf(app, project), before)
  assert.deepEqual(await project.events(), [])
})

test('an editor is refused whatever is for admins, and so is an editor’s lesser key', async () => {
  const project = await app.newProject()
  const fixtures = await makeFixtures(app, project)
  const editor = await project.addMember('editor')
  const before = await stateOf(app, project)
  for (const operation of allOperations.filter(({ scope }) => scope === 'admin'))
    for (const who of [editor, await editor.withKey(['read', 'admin'])])
      assertRefused(
        await ask(who, operation, { path: pathOf(operation, fixtures), body: bodyOf(operation, fixtures) }),
        403,
        'forbidden',
        operation.id,
      )
  assert.equal(await stateOf(app, project), before)
})

test('a member of two projects is changed in one of them', async () => {
  const [ours, theirs] = [await app.newProject(), await app.newProject()]
  const member = await ours.addMember('editor')
  await database.run`insert into members (project_id, user_id, role) values (${theirs.id}, ${member.user_id}, 'admin')`
  await ours.patch(path(member), { role: 'viewer' })
  assert.equal((await rolesOf(theirs))[member.user_id], 'admin')
  await ours.delete(path(member))
  assert.equal((await rolesOf(theirs))[member.user_id], 'admin')
  for (const answer of [await ours.patch(path(member), { role: 'owner' }), await ours.delete(path(theirs))])
    assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'])
  assert.equal((await speaking(app.url, theirs.key).get('/members')).body.length, 2)
})

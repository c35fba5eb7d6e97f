import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { newVisitor, type Visitor } from '../../../tests/support/visitor.ts'
import { formatId, newId, type ProjectId, type UserId } from '../../base/ids.ts'
import { startSession } from '../../features/sessions/index.ts'

const app = await startApp()
const { database } = app.services
const idOf = (member: TestProject) => formatId('usr', member.user_id)

async function browserOf({ user_id }: TestProject): Promise<Visitor> {
  const visitor = newVisitor(app.url)
  const secret = await database.transaction((tx) => startSession(tx, { user_id, user_agent: null, ip: null }))
  visitor.cookies.set('__Host-session', secret)
  return visitor
}
const at = (project: TestProject, action = '') => `/account/team${action}?project=${project.id}`
const membersOf = async (project: TestProject) =>
  (await database.many<{ user_id: string; role: string }>`select * from members where project_id = ${project.id} order by user_id`).map(
    ({ user_id, role }) => [user_id, role],
  )

test('an owner runs the team without a script: invite, revoke, change a role, remove', async () => {
  const project = await app.newProject()
  const member = await project.addMember('viewer')
  const visitor = await browserOf(project)
  const address = `${newId()}@example.org`
  const page = await visitor.get(at(project))
  assert.equal(page.status, 200)
  for (const text of [project.email, member.email, 'Send the invitation', 'Delete the project']) assert.ok(page.html.includes(text), text)

  const invited = await visitor.post(at(project, '/invite'), { email: address, role: 'admin' })
  assert.deepEqual([invited.status, invited.location], [303, at(project)])
  const id = /name="id" value="(inv_\w+)"/.exec((await visitor.get(at(project))).html)?.[1] ?? assert.fail('no invite shown')
  assert.equal((await visitor.post(at(project, '/revoke'), { id })).status, 303)
  assert.equal((await project.get('/invites')).body[0].status, 'revoked')

  assert.equal((await visitor.post(at(project, '/role'), { id: idOf(member), role: 'editor' })).status, 303)
  assert.equal((await membersOf(project)).at(-1)?.[1], 'editor')
  assert.equal((await visitor.post(at(project, '/remove'), { id: idOf(member) })).status, 303)
  assert.deepEqual(await membersOf(project), [[project.user_id, 'owner']])
  const audit = await database.many<{ operation: string }>`select operation from audit_log where project_id = ${project.id} order by id`
  assert.deepEqual(
    audit.map(({ operation }) => operation),
    ['invites.create', 'invites.revoke', 'members.update', 'members.delete'],
  )
  assert.deepEqual(await project.events(), [])
})

test('the first project of the installation offers no end, and refusals are told in the words of the page', async () => {
  const { owner_id, id } =
    (await database.first<{ owner_id: UserId; id: ProjectId }>`
    select p.owner_id, p.id from instance i join projects p on p.id = i.owner_project_id`) ?? assert.fail()
  const owner = newVisitor(app.url)
  const secret = await database.transaction((tx) => startSession(tx, { user_id: owner_id, user_agent: null, ip: null }))
  owner.cookies.set('__Host-session', secret)
  const page = await owner.get('/account/team')
  assert.ok(page.html.includes('Rename the project') && !page.html.includes('Delete the project'))
  const refused = await owner.post('/account/team/delete', { name: 'My project' })
  assert.equal(refused.status, 422)
  assert.match(refused.html, /Nothing was changed\. This is the first project of this installation/)
  assert.equal((await database.first<{ deleted_at: Date | null }>`select deleted_at from projects where id = ${id}`)?.deleted_at, null)
  const left = await owner.post('/account/team/remove', { id: formatId('usr', owner_id) })
  assert.match(left.html, /Nothing was changed\. This would leave the project without an owner\./)
  const invited = await owner.post('/account/team/invite', { email: 'nobody', role: 'viewer' })
  assert.match(invited.html, /Nothing was changed\. The address has no @\./)
})

test('who is invited sees it on the account page, too', async () => {
  const [project, guest] = [await app.newProject(), await app.newProject()]
  await project.post('/invites', { email: guest.email, role: 'admin' })
  const visitor = await browserOf(guest)
  for (const path of ['/account', '/account/team'])
    assert.match((await visitor.get(path)).html, /asks you to join <strong>[^<]+<\/strong> as an admin: <a href="\/invites\/inv_/, path)
  assert.doesNotMatch((await (await browserOf(project)).get('/account')).html, /asks you to join/)
})

test('projects are made, renamed and deleted, the last with the name typed', async () => {
  const project = await app.newProject()
  const visitor = await browserOf(project)
  const made = await visitor.post(at(project, '/create'), { name: 'Second one' })
  assert.deepEqual([made.status, made.location], [303, '/account/team?project=second-one'])
  const action = (name: string) => `/account/team${name}?project=second-one`
  assert.equal((await visitor.post(action('/rename'), { name: '<i>Third</i>' })).status, 303)
  assert.ok((await visitor.get(action(''))).html.includes('&lt;i&gt;Third&lt;/i&gt;'))
  for (const name of ['', 'third', 'Second one']) {
    const refused = await visitor.post(action('/delete'), { name })
    assert.equal(refused.status, 422)
    assert.ok(refused.html.includes('Nothing was changed'))
  }
  const deleted = await visitor.post(action('/delete'), { name: '<i>Third</i>' })
  assert.deepEqual([deleted.status, deleted.location], [303, '/account'])
  assert.equal((await visitor.get(action(''))).status, 404)
  assert.equal((await visitor.get(at(project))).status, 200)
})

test('a viewer sees the team and can leave; whatever else they post is refused and changes nothing', async () => {
  const project = await app.newProject()
  const viewer = await project.addMember('viewer')
  const visitor = await browserOf(viewer)
  const page = await visitor.get(at(project))
  assert.equal(page.status, 200)
  assert.ok(page.html.includes('Leave') && !page.html.includes('Send the invitation') && !page.html.includes('Delete the project'))
  const before = await membersOf(project)
  const tries: [string, Record<string, string>][] = [
    ['/invite', { email: 'a@example.org', role: 'owner' }],
    ['/role', { id: idOf(viewer), role: 'owner' }],
    ['/remove', { id: idOf(project) }],
    ['/rename', { name: 'Mine' }],
    ['/delete', { name: 'Test' }],
  ]
  for (const [action, fields] of tries) assert.equal((await visitor.post(at(project, action), fields)).status, 403, action)
  assert.deepEqual(await membersOf(project), before)
  assert.deepEqual(await project.events(), [])
  const left = await visitor.post(at(project, '/remove'), { id: idOf(viewer) })
  assert.deepEqual([left.status, left.location], [303, '/account'])
  assert.deepEqual(await membersOf(project), [[project.user_id, 'owner']])
})

test('an admin is not offered what is the owners’, and does not get it by asking', async () => {
  const project = await app.newProject()
  const admin = await project.addMember('admin')
  const visitor = await browserOf(admin)
  const page = await visitor.get(at(project))
  assert.ok(!page.html.includes('value="owner"') && !page.html.includes('Delete the project'))
  assert.equal((await visitor.post(at(project, '/role'), { id: idOf(admin), role: 'owner' })).status, 403)
  assert.equal((await visitor.post(at(project, '/remove'), { id: idOf(project) })).status, 403)
  assert.equal((await visitor.post(at(project, '/delete'), { name: 'Test' })).status, 403)
})

test('mistakes come back on the page with a sentence; other sites, strangers and other projects get nowhere', async () => {
  const [project, other] = [await app.newProject(), await app.newProject()]
  const visitor = await browserOf(project)
  const wrong: [string, Record<string, string>, number][] = [
    ['/invite', { email: 'no address', role: 'editor' }, 422],
    ['/invite', { email: project.email, role: 'editor' }, 422],
    ['/role', { id: idOf(project), role: 'viewer' }, 422],
    ['/remove', { id: idOf(project) }, 422],
    ['/remove', { id: idOf(other) }, 404],
    ['/revoke', { id: 'x' }, 404],
    ['/rename', { name: '' }, 422],
  ]
  for (const [action, fields, status] of wrong) {
    const answer = await visitor.post(at(project, action), fields)
    assert.equal(answer.status, status, action)
    assert.ok(answer.html.includes('Nothing was changed'), action)
  }
  assert.equal((await visitor.post(at(project, '/nothing'))).status, 404)
  assert.equal((await visitor.post(at(project, '/toString'))).status, 404)
  assert.equal((await visitor.get(at(other))).status, 404)
  assert.equal((await visitor.post(at(other, '/rename'), { name: 'Mine' })).status, 404)
  assert.equal((await visitor.post(at(project, '/rename'), { name: 'x' }, { origin: 'https://evil.example' })).status, 403)
  const unsigned = await newVisitor(app.url).get(at(project))
  assert.equal(unsigned.status, 303)
  assert.match(unsigned.location ?? '', /^\/sign-in\?next=/)
  assert.deepEqual([...(await project.events()), ...(await other.events())], [])
})

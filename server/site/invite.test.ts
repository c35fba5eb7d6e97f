import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp, type TestApp } from '../../tests/support/posthaste.ts'
import type { TestProject } from '../../tests/support/project.ts'
import { linkIn, mailTo } from '../../tests/support/received-mail.ts'
import { startSmtpPeer } from '../../tests/support/smtp-peer.ts'
import { until } from '../../tests/support/until.ts'
import { capturedFor, newVisitor, signIn, type Visitor } from '../../tests/support/visitor.ts'
import { formatId, newId, parseId, type UserId } from '../base/ids.ts'
import { startSession } from '../features/sessions/index.ts'

const app = await startApp()
const { database } = app.services
const freshAddress = () => `${newId()}@example.org`

async function browserOf(some: TestApp, user_id: UserId): Promise<Visitor> {
  const visitor = newVisitor(some.url)
  const secret = await some.services.database.transaction((tx) => startSession(tx, { user_id, user_agent: null, ip: null }))
  visitor.cookies.set('__Host-session', secret)
  return visitor
}

/** Invites an address, and answers the path of the link that came by mail. */
async function linkTo(project: TestProject, email: string, role = 'editor'): Promise<{ id: string; path: string }> {
  const { status, body } = await project.post('/invites', { email, role })
  assert.equal(status, 201, JSON.stringify(body))
  const mail = await until('the mail', async () => (await capturedFor(app, email)).find(({ text }) => text?.includes(body.id)))
  return { id: body.id, path: linkIn(mail).replace(app.url, '') }
}
const statusOf = async (id: string) =>
  (await database.first<{ status: string }>`select status from invites where id = ${parseId('inv', id)}`)?.status
const roleOf = async (project: TestProject, email: string) =>
  (
    await database.first<{ role: string }>`
    select role from members m join users u on u.id = m.user_id where m.project_id = ${project.id} and u.email_key = ${email}`
  )?.role ?? null

test('from the mail to the membership: look, sign in, come back, join', async () => {
  const project = await app.newProject()
  await database.run`update projects set name = '<b>Tea & Biscuits</b>' where id = ${project.id}`
  const address = freshAddress()
  const { id, path } = await linkTo(project, address)
  const stranger = newVisitor(app.url)
  const look = await stranger.get(path)
  assert.equal(look.status, 200)
  for (const text of ['&lt;b&gt;Tea &amp; Biscuits&lt;/b&gt;', address, project.email, 'an editor'])
    assert.ok(look.html.includes(text), text)
  assert.ok(!look.html.includes('Join the project'))
  assert.ok(look.html.includes(`/sign-in?next=${encodeURIComponent(path)}`))
  assert.match(look.headers.get('content-security-policy') ?? '', /default-src 'none'/)

  const visitor = await signIn(app, address)
  const page = await visitor.get(path)
  assert.ok(page.html.includes('Join the project'))
  assert.equal(await statusOf(id), 'pending')
  const done = await visitor.post(path, { answer: 'accept' })
  assert.deepEqual([done.status, done.location], [303, `/account/team?project=${project.id}`])
  assert.equal((await visitor.get(done.location as string)).status, 200)
  assert.deepEqual([await statusOf(id), await roleOf(project, address)], ['approved', 'editor'])
  const audit = await database.many`select 1 from audit_log where project_id = ${project.id} and operation = 'invites.approve'`
  assert.equal(audit.length, 1)
  assert.equal((await visitor.get(path)).status, 410)
  assert.deepEqual(await project.events(), [])
})

test('by real mail: the link that a mail server got works', async (t) => {
  const peer = await startSmtpPeer()
  t.after(() => peer.close())
  const other = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
  t.after(() => other.stop())
  const [project, guest] = [await other.newProject(), await other.newProject()]
  const { body } = await project.post('/invites', { email: guest.email, role: 'viewer' })
  const mail = await mailTo(peer, guest.email)
  assert.equal(mail.subject, 'You are invited to a project')
  const path = linkIn(mail).replace(other.url, '')
  const visitor = await browserOf(other, guest.user_id)
  assert.equal((await visitor.post(path, { answer: 'accept' })).status, 303)
  const { body: members } = await project.get('/members')
  assert.deepEqual(
    members.map((member: { email: string; role: string }) => [member.email, member.role]),
    [
      [project.email, 'owner'],
      [guest.email, 'viewer'],
    ],
  )
  const kept = await until(
    'it is settled',
    () => other.services.database.first<{ mail: object }>`select mail from messages where kind = 'invite' and status = 'delivered'`,
  )
  assert.ok(!JSON.stringify(kept.mail).includes('token='))
  assert.ok(!JSON.stringify(kept.mail).includes(body.id))
})

test('scanners that look, with and without a session, change nothing', async () => {
  const [project, guest] = [await app.newProject(), await app.newProject()]
  const { id, path } = await linkTo(project, guest.email)
  const visitor = await browserOf(app, guest.user_id)
  for (const who of [newVisitor(app.url), visitor]) for (let time = 0; time < 3; time++) assert.equal((await who.get(path)).status, 200)
  assert.equal((await fetch(app.url + path, { method: 'HEAD' })).status, 200)
  const unsigned = await newVisitor(app.url).post(path, { answer: 'accept' })
  assert.deepEqual([unsigned.status, unsigned.location], [303, `/sign-in?next=${encodeURIComponent(path)}`])
  const foreign = await visitor.post(path, { answer: 'accept' }, { origin: 'https://evil.example' })
  assert.equal(foreign.status, 403)
  assert.deepEqual([await statusOf(id), await roleOf(project, guest.email)], ['pending', null])
  assert.deepEqual(await project.events(), [])
})

test('the wrong person sees whom it is for, and cannot answer', async () => {
  const [project, guest, other] = [await app.newProject(), await app.newProject(), await app.newProject()]
  const { id, path } = await linkTo(project, guest.email)
  const visitor = await browserOf(app, other.user_id)
  const page = await visitor.get(path)
  assert.equal(page.status, 200)
  assert.ok(page.html.includes(guest.email) && page.html.includes(other.email) && page.html.includes('action="/sign-out"'))
  assert.ok(!page.html.includes('Join the project'))
  for (const answer of ['accept', 'decline']) assert.equal((await visitor.post(path, { answer })).status, 403)
  assert.equal((await visitor.get(`/invites/${id}`)).status, 404, 'without the token it is not even there')
  assert.equal((await visitor.post(`/invites/${id}`, { answer: 'accept' })).status, 404)
  for (const who of [other, project]) {
    const own = await browserOf(app, who.user_id)
    await own.post(path, { answer: 'accept' })
  }
  assert.deepEqual([await statusOf(id), await roleOf(project, other.email)], ['pending', null])
})

test('who is signed in with the address needs no token, and may decline', async () => {
  const [project, guest] = [await app.newProject(), await app.newProject()]
  const { id } = await linkTo(project, guest.email)
  const unsigned = await newVisitor(app.url).get(`/invites/${id}`)
  assert.deepEqual([unsigned.status, unsigned.location], [303, `/sign-in?next=${encodeURIComponent(`/invites/${id}`)}`])
  const visitor = await browserOf(app, guest.user_id)
  assert.ok((await visitor.get('/account/team')).html.includes(`/invites/${id}`))
  assert.equal((await visitor.get(`/invites/${id}`)).status, 200)
  const done = await visitor.post(`/invites/${id}`, { answer: 'decline' })
  assert.deepEqual([done.status, done.location], [303, '/account'])
  assert.deepEqual([await statusOf(id), await roleOf(project, guest.email)], ['rejected', null])
})

test('links that are broken, of another invite, revoked or expired say so, and let nobody in', async () => {
  const [project, guest, second] = [await app.newProject(), await app.newProject(), await app.newProject()]
  const visitor = await browserOf(app, guest.user_id)
  const { id, path } = await linkTo(project, guest.email)
  const { id: otherId, path: otherPath } = await linkTo(project, second.email)
  const token = otherPath.split('token=')[1] as string
  for (const wrong of [
    `${otherPath.slice(0, -1)}x`,
    `/invites/${otherId}?token=`,
    `/invites/${otherId}?token=${'A'.repeat(70)}`,
    `/invites/x?token=${token}`,
    `/invites/${formatId('inv', newId())}?token=${token}`,
    `${otherPath}&token=x`,
  ]) {
    assert.equal((await visitor.get(wrong)).status, 404, wrong)
    assert.equal((await visitor.post(wrong, { answer: 'accept' })).status, 404, wrong)
  }
  await project.post(`/invites/${id}/revoke`)
  const revoked = await visitor.get(path)
  assert.equal(revoked.status, 410)
  assert.ok(revoked.html.includes('is revoked already'))
  assert.equal((await visitor.post(path, { answer: 'accept' })).status, 410)

  const third = await app.newProject()
  const { id: old, path: oldPath } = await linkTo(third, guest.email)
  await database.run`update invites set created_at = created_at - interval '15 days' where id = ${parseId('inv', old)}`
  assert.ok((await visitor.get(oldPath)).html.includes('has expired after 14 days'))
  assert.equal((await visitor.post(oldPath, { answer: 'accept' })).status, 410)
  for (const one of [project, third]) assert.equal(await roleOf(one, guest.email), null)

  const { path: gonePath } = await linkTo(second, freshAddress())
  await second.delete(`/api/projects/${formatId('prj', second.id)}`)
  assert.equal((await visitor.get(gonePath)).status, 404)
})

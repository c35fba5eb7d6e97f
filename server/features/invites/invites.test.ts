import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { type Answer, speaking, type TestProject } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { capturedFor } from '../../../tests/support/visitor.ts'
import { formatId, type InviteId, newId, parseId } from '../../base/ids.ts'
import { expireInvites } from './index.ts'

const app = await startApp()
const { database } = app.services
const dayMs = 24 * 3_600_000

const freshAddress = () => `${newId()}@example.org`
const ageInvite = (id: string, days: number) =>
  database.run`update invites set created_at = created_at - make_interval(days => ${days}) where id = ${parseId('inv', id)}`
const roleIn = async (project: TestProject, who: TestProject) =>
  (await database.first<{ role: string }>`select role from members where project_id = ${project.id} and user_id = ${who.user_id}`)?.role ??
  null
const mailsTo = async (address: string) =>
  (await database.many`select 1 from messages where kind = 'invite' and recipient_key = ${address.toLowerCase()}`).length

function assertRefused({ status, body }: Answer, [wanted, code]: [number, string], message: RegExp): void {
  assert.deepEqual([status, body.error.code], [wanted, code], JSON.stringify(body))
  assert.match(body.error.message, message)
}
const invalid: [number, string] = [422, 'validation_error']
const notFound: [number, string] = [404, 'not_found']

/** An invite from one project to the person behind another one's key. */
async function invite(from: TestProject, to: TestProject, role = 'editor'): Promise<{ id: string }> {
  const { status, body } = await from.post('/invites', { email: to.email, role })
  assert.equal(status, 201, JSON.stringify(body))
  return body
}

test('an invite has exactly the contract’s shape, and a mail goes out that repeats nobody’s words', async () => {
  const project = await app.newProject()
  await database.run`update projects set name = 'WIN A PRIZE at evil.example' where id = ${project.id}`
  const address = freshAddress()
  const { status, body } = await project.post('/invites', { email: address })
  assert.equal(status, 201)
  const { id, created_at, ...rest } = body
  assert.match(id, /^inv_[0-9a-z]{26}$/)
  assert.equal(new Date(created_at).toISOString(), created_at)
  const expected = { project_id: formatId('prj', project.id), email: address, role: 'editor', status: 'pending', source: 'team' }
  assert.deepEqual(rest, expected)
  const mail = await until('the mail', async () => (await capturedFor(app, address))[0])
  assert.ok(mail.text?.includes('Somebody at example.com invites you') && mail.text.includes('as an editor'), mail.text)
  assert.ok(!mail.text?.includes(project.email.split('@')[0] as string))
  assert.match(mail.text ?? '', new RegExp(`${app.url}/invites/${id}\\?token=[\\w-]{60,80}\\s`))
  assert.ok(!`${mail.subject}${mail.text}${mail.html}`.includes('evil'))
  assert.deepEqual(await project.events(), [])
})

test('the same invite again is the same, and its mail comes once a day', async () => {
  const project = await app.newProject()
  const address = freshAddress()
  const { body: first } = await project.post('/invites', { email: address, role: 'viewer' })
  for (const body of [{ email: address }, { email: address.toUpperCase(), role: 'viewer' }])
    assert.deepEqual([(await project.post('/invites', body)).body], [first])
  assertRefused(await project.post('/invites', { email: address, role: 'admin' }), invalid, /^role: .*invited as a viewer.*Revoke/)
  assert.equal(await mailsTo(address), 1)
  app.clock.advance(dayMs + 60_000)
  assert.deepEqual((await project.post('/invites', { email: address })).body, first)
  assert.equal(await mailsTo(address), 2)
  assert.deepEqual(await project.events(), [])
})

test('twenty at once make one invite and one mail', async () => {
  const project = await app.newProject()
  const address = freshAddress()
  const answers = await Promise.all(Array.from({ length: 20 }, () => project.post('/invites', { email: address })))
  assert.ok(answers.every(({ status }) => status === 201))
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1)
  assert.equal(await mailsTo(address), 1)
})

test('who is a member already, and what cannot be given, is refused', async () => {
  const project = await app.newProject()
  const [admin, editor] = [await project.addMember('admin'), await project.addMember('editor')]
  assertRefused(await project.post('/invites', { email: editor.email }), invalid, /^email: is a member already/)
  assertRefused(
    await admin.post('/invites', { email: freshAddress(), role: 'owner' }),
    [403, 'forbidden'],
    /^role: .*an owner.*Ask an owner/,
  )
  assertRefused(await editor.post('/invites', { email: freshAddress() }), [403, 'forbidden'], /admin/)
  assert.equal((await project.post('/invites', { email: freshAddress(), role: 'owner' })).status, 201)
  for (const body of [{}, { email: 'x' }, { email: freshAddress(), role: 'root' }])
    assertRefused(await project.post('/invites', body), invalid, /^(email|role): /)
  assert.equal((await database.many`select 1 from invites where project_id = ${project.id}`).length, 1)
  assert.deepEqual(await project.events(), [])
})

test('one address gets five of these mails a day, whoever asks', async () => {
  const address = freshAddress()
  for (let number = 0; number < 5; number++) assert.equal((await (await app.newProject()).post('/invites', { email: address })).status, 201)
  const sixth = await app.newProject()
  const refused = await sixth.post('/invites', { email: address })
  assertRefused(refused, [429, 'rate_limited'], /^email: has had 5 invitations/)
  assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/)
  assert.deepEqual((await sixth.get('/invites')).body, [])
  app.clock.advance(dayMs + 60_000)
  assert.equal((await sixth.post('/invites', { email: address })).status, 201)
})

test('a project has a hundred open invites at most, and a member makes a hundred a day, revoked ones too', async () => {
  const [full, busy] = [await app.newProject(), await app.newProject()]
  const fill = (project: TestProject, maker: TestProject, status: string) => database.run`
    insert into invites (project_id, id, email, email_key, role, status, source, user_id, created_at)
    select ${project.id}, gen_random_uuid(), n || '@x.example', n || '@x.example', 'viewer', ${status}, 'team', ${maker.user_id}, ${app.clock.now()}
    from generate_series(1, 100) n`
  await fill(full, busy, 'pending')
  assertRefused(await full.post('/invites', { email: freshAddress() }), invalid, /^email: .*100 invites of this project are open/)
  await fill(busy, full, 'revoked')
  assertRefused(await full.post('/invites', { email: freshAddress() }), invalid, /open/)
  assertRefused(await busy.post('/invites', { email: freshAddress() }), [429, 'rate_limited'], /^email: you have invited 100 people/)
  assert.deepEqual([...(await full.events()), ...(await busy.events())], [])
})

test('the list has the project’s own, and the open ones from others to the caller, newest first', async () => {
  const [ours, theirs, third] = [await app.newProject(), await app.newProject(), await app.newProject()]
  const first = await invite(theirs, ours, 'viewer')
  const { body: own } = await ours.post('/invites', { email: freshAddress() })
  const { body: revoked } = await ours.post('/invites', { email: freshAddress() })
  await ours.post(`/invites/${revoked.id}/revoke`)
  const expired = await invite(third, ours)
  await ageInvite(expired.id, 15)
  const ids = async (query = '') => (await ours.get(`/invites${query}`)).body.map((shown: { id: string }) => shown.id)
  assert.deepEqual(await ids(), [revoked.id, own.id, first.id])
  assert.deepEqual(await ids('?status=pending'), [own.id, first.id])
  assert.deepEqual(await ids('?status=revoked'), [revoked.id])
  assert.deepEqual(await ids('?status=approved'), [])
  const page = await ours.get('/invites?limit=2')
  assert.deepEqual(page.body.length, 2)
  const next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1] ?? assert.fail('no next page')
  const rest = await (await fetch(next, { headers: { authorization: `Bearer ${ours.key}` } })).json()
  assert.deepEqual(
    (rest as { id: string }[]).map((shown) => shown.id),
    [first.id],
  )
  assert.deepEqual(
    (await theirs.get('/invites')).body.map((shown: { id: string }) => shown.id),
    [first.id],
  )
  assert.equal((await ours.get('/invites?status=open')).status, 422)
})

test('the addressee accepts and is a member with that role; once more changes nothing', async () => {
  const [ours, theirs] = [await app.newProject(), await app.newProject()]
  for (const role of ['viewer', 'editor', 'admin', 'owner']) {
    const { id } = await invite(theirs, ours, role)
    const { status, body } = await ours.post(`/invites/${id}/approve`)
    assert.deepEqual([status, body.id, body.status, body.role], [200, id, 'approved', role])
    assert.equal(await roleIn(theirs, ours), role)
    await theirs.delete(`/members/${formatId('usr', ours.user_id)}`)
    assert.equal((await ours.post(`/invites/${id}/approve`)).status, 200)
    assert.equal(await roleIn(theirs, ours), null, 'an old invite lets nobody in again')
  }
  for (const project of [ours, theirs])
    assert.equal(
      (await database.many`select 1 from audit_log where project_id = ${project.id} and operation = 'invites.approve'`).length,
      project === ours ? 8 : 4,
    )
  assert.deepEqual([...(await ours.events()), ...(await theirs.events())], [])
})

test('the addressee declines, and is no member', async () => {
  const [ours, theirs] = [await app.newProject(), await app.newProject()]
  const { id } = await invite(theirs, ours)
  const { status, body } = await ours.post(`/invites/${id}/reject`)
  assert.deepEqual([status, body.status], [200, 'rejected'])
  assert.equal((await ours.post(`/invites/${id}/reject`)).status, 200)
  assertRefused(await ours.post(`/invites/${id}/approve`), invalid, /^id: is rejected already/)
  assertRefused(await theirs.post(`/invites/${id}/revoke`), invalid, /^id: is rejected already/)
  assert.equal(await roleIn(theirs, ours), null)
  assert.notEqual((await invite(theirs, ours)).id, id, 'they may be asked once more')
  assert.deepEqual([...(await ours.events()), ...(await theirs.events())], [])
})

test('the project takes an invite back, in either way, and then nobody can accept it', async () => {
  const [ours, theirs] = [await app.newProject(), await app.newProject()]
  const first = await invite(theirs, ours)
  const { status, body } = await theirs.post(`/invites/${first.id}/revoke`)
  assert.deepEqual([status, body.id, body.status], [200, first.id, 'revoked'])
  const second = await invite(theirs, ours)
  const deleted = await theirs.delete(`/invites/${second.id}`)
  assert.deepEqual([deleted.status, deleted.body], [204, null])
  for (const { id } of [first, second]) {
    assertRefused(await ours.post(`/invites/${id}/approve`), invalid, /^id: is revoked already/)
    assertRefused(await theirs.delete(`/invites/${id}`), invalid, /^id: is revoked already/)
  }
  assert.equal(await roleIn(theirs, ours), null)
  assert.deepEqual([...(await ours.events()), ...(await theirs.events())], [])
})

test('nobody but the addressee accepts or declines, and nobody but the project revokes', async () => {
  const [ours, theirs, strangers] = [await app.newProject(), await app.newProject(), await app.newProject()]
  const { id } = await invite(theirs, ours)
  for (const verb of ['approve', 'reject']) {
    assertRefused(await strangers.post(`/invites/${id}/${verb}`), notFound, /does not exist/)
    for (const who of [theirs, await theirs.addMember('admin')])
      assertRefused(await who.post(`/invites/${id}/${verb}`), invalid, new RegExp(`^id: is for ${ours.email} to answer`))
  }
  for (const who of [ours, strangers]) {
    assertRefused(await who.post(`/invites/${id}/revoke`), notFound, /does not exist/)
    assertRefused(await who.delete(`/invites/${id}`), notFound, /does not exist/)
  }
  assert.ok(!JSON.stringify((await strangers.get('/invites')).body).includes(id))
  assert.equal((await ours.post(`/invites/${id}/approve`)).status, 200)
  assert.deepEqual(await strangers.events(), [])
})

test('after fourteen days an invite cannot be accepted, is revoked in the background, and can be made anew', async () => {
  const [ours, theirs] = [await app.newProject(), await app.newProject()]
  const { id } = await invite(theirs, ours)
  await ageInvite(id, 15)
  for (const verb of ['approve', 'reject'])
    assertRefused(await ours.post(`/invites/${id}/${verb}`), invalid, /^id: has expired after 14 days/)
  const again = await invite(theirs, ours)
  assert.notEqual(again.id, id)
  await ageInvite(again.id, 15)
  await expireInvites.run(app.services, {})
  const statuses = await database.many<{ status: string }>`select status from invites where project_id = ${theirs.id}`
  assert.deepEqual(
    statuses.map((row) => row.status),
    ['revoked', 'revoked'],
  )
  assert.equal(await roleIn(theirs, ours), null)
})

test('an invite is worth what its maker could still give', async () => {
  const project = await app.newProject()
  for (const [role, becomes] of [
    ['admin', 'viewer'],
    ['owner', 'admin'],
    ['admin', null],
  ] as const) {
    const [maker, guest] = [await project.addMember(role), await app.newProject()]
    const { id } = await invite(maker, guest, role)
    const path = `/members/${formatId('usr', maker.user_id)}`
    assert.ok([200, 204].includes((await (becomes ? project.patch(path, { role: becomes }) : project.delete(path))).status))
    assertRefused(await guest.post(`/invites/${id}/approve`), invalid, /^id: cannot be accepted: whoever made it may not invite any more/)
    assert.equal(await roleIn(project, guest), null)
  }
})

test('approve, reject and revoke at once: one of them wins, and the membership says which', async () => {
  for (let round = 0; round < 10; round++) {
    const [ours, theirs] = [await app.newProject(), await app.newProject()]
    const { id } = await invite(theirs, ours)
    const answers = await Promise.all([
      ours.post(`/invites/${id}/approve`),
      theirs.post(`/invites/${id}/revoke`),
      ours.post(`/invites/${id}/reject`),
      theirs.delete(`/invites/${id}`),
    ])
    assert.equal(answers.filter(({ status }) => status < 300).length, 1, JSON.stringify(answers.map(({ status }) => status)))
    assert.ok(answers.filter(({ status }) => status >= 300).every(({ status }) => status === 422))
    const row = await database.first<{ status: string }>`select status from invites where id = ${parseId('inv', id) as InviteId}`
    assert.equal(await roleIn(theirs, ours), row?.status === 'approved' ? 'editor' : null)
  }
})

test('with the project its invites are gone', async () => {
  const [ours, theirs] = [await app.newProject(), await app.newProject()]
  const { id } = await invite(theirs, ours)
  await theirs.delete(`/api/projects/${formatId('prj', theirs.id)}`)
  assertRefused(await ours.post(`/invites/${id}/approve`), notFound, /does not exist/)
  assert.deepEqual((await ours.get('/invites')).body, [])
})

test('a member’s own role is not changed by an invite that came before', async () => {
  const [ours, theirs] = [await app.newProject(), await app.newProject()]
  const { id } = await invite(theirs, ours, 'admin')
  await database.run`insert into members (project_id, user_id, role) values (${theirs.id}, ${ours.user_id}, 'viewer')`
  assert.equal((await ours.post(`/invites/${id}/approve`)).status, 200)
  assert.equal(await roleIn(theirs, ours), 'viewer')
})

test('a lesser key neither answers nor makes invites', async () => {
  const [ours, theirs] = [await app.newProject(), await app.newProject()]
  const { id } = await invite(theirs, ours)
  const lesser = await ours.withKey(['read', 'write', 'send'])
  for (const answer of [
    await lesser.get('/invites'),
    await lesser.post(`/invites/${id}/approve`),
    await lesser.post('/invites', { email: freshAddress() }),
  ])
    assert.equal(answer.status, 403)
  assert.equal((await speaking(app.url, null).get('/invites')).status, 401)
  assert.equal(await roleIn(theirs, ours), null)
})

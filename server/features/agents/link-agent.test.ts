import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asProject, asUser, claimAs, dataOf, eventsIn, newAddress, nobody, registerAnonymous } from '../../../tests/support/agents.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { capturedFor, codeFor } from '../../../tests/support/visitor.ts'

const app = await startApp()
const { database } = app.services

test('a linked agent keeps its project, with more of a plan, and may write there', async () => {
  const agent = await registerAnonymous(app)
  const email = newAddress()
  const data = await claimAs(app, agent.claim_token, email, true)
  assert.deepEqual(
    [data.mode, data.user_id, data.project_id, data.scopes, data.mailbox],
    ['link', agent.user_id, agent.project_id, ['read', 'write'], agent.mailbox],
  )
  const [first, fresh] = [speaking(app.url, agent.credential), speaking(app.url, data.credential)]
  assert.equal((await fresh.post('/lists', { name: 'Linked one' })).status, 201)
  await until('the first key may write, too', async () => (await first.post('/lists', { name: 'Linked two' })).status === 201, {
    withinMs: 1_000,
  })
  assert.equal((await first.get('/lists')).body.length, 2)
  const made = await database.first<{ plan: string; parent: string; role: string; status: string; source: string; asks: boolean }>`
    select p.plan, human.email as parent, i.role, i.status, i.source, i.user_id = u.id as asks
    from projects p join users u on u.id = p.owner_id join users human on human.id = u.parent_id join invites i on i.project_id = p.id
    where p.id = ${asProject(agent.project_id)}`
  assert.deepEqual(made, { plan: 'free', parent: email, role: 'admin', status: 'pending', source: 'agent', asks: true })
  assert.ok((await eventsIn(app, agent.project_id)).every((type) => ['mailbox.created', 'list.created'].includes(type)))
})

test('the human hears of it, with the way to the switch', async () => {
  const agent = await registerAnonymous(app)
  const email = newAddress()
  await claimAs(app, agent.claim_token, email, true)
  const mails = await until('both mails', async () => {
    const captured = await capturedFor(app, email)
    return captured.length === 2 && captured
  })
  const name = agent.mailbox.address.split('@')[0]
  assert.equal(mails[1]?.subject, `The agent ${name} is linked to your account`)
  assert.ok(mails[1]?.text?.includes(`${app.config.AUTH_URL}/account/agents`))
})

test('an agent that named its human and wants to be linked is made when the code comes back', async () => {
  const email = newAddress()
  const { claim_token } = dataOf(
    await nobody(app).post('/agent/auth', { type: 'identity_assertion', assertions: [{ type: 'verified_email', email }], link: true }),
    201,
  )
  const otp = await codeFor(app, email)
  const data = dataOf(await nobody(app).post('/agent/auth/claim/complete', { claim_token, otp }), 200)
  assert.equal(data.mode, 'link')
  assert.match(data.mailbox.address, /@posthaste\.test$/)
  const { body: me } = await speaking(app.url, data.credential).get('/api/me')
  assert.deepEqual([me.user.id, me.user.kind, me.user.email, me.scopes], [data.user_id, 'agent', data.mailbox.address, ['read', 'write']])
  assert.deepEqual(await eventsIn(app, data.project_id), ['mailbox.created'])
  const plan = await database.first<{ plan: string }>`select plan from projects where id = ${asProject(data.project_id)}`
  assert.equal(plan?.plan, 'free')
})

test('without CLAIM_WIDENS_FIRST_KEY only the new key may write', async (t) => {
  const careful = await startApp({ CLAIM_WIDENS_FIRST_KEY: 'false' })
  t.after(() => careful.stop())
  const agent = await registerAnonymous(careful)
  const data = await claimAs(careful, agent.claim_token, newAddress(), true)
  assert.deepEqual((await speaking(careful.url, data.credential).get('/api/me')).body.scopes, ['read', 'write'])
  const scopes = await careful.services.database.many<{ scopes: string[] }>`
    select scopes from api_keys where user_id = ${asUser(agent.user_id)} order by id`
  assert.deepEqual(scopes, [{ scopes: ['read'] }, { scopes: ['read', 'write'] }])
})

test('the human who approves becomes an admin of the agent’s project, and may let it send', async () => {
  const project = await app.newProject()
  const { body: me } = await project.get('/api/me')
  for (const send of [true, false]) {
    const agent = await registerAnonymous(app)
    await database.run`update email_codes set created_at = created_at - interval '2 minutes' where email_key = ${me.user.email}`
    const data = await claimAs(app, agent.claim_token, me.user.email, true)
    const invite = (await project.get('/invites')).body.find((one: { project_id: string }) => one.project_id === data.project_id)
    assert.deepEqual([invite.source, invite.status, invite.role], ['agent', 'pending', 'admin'])
    const answer = await project.post(`/invites/${invite.id}/approve`, { send })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    const agentKey = speaking(app.url, data.credential)
    const wanted = send ? ['read', 'write', 'send'] : ['read', 'write']
    await until('the key has its scopes', async () => (await agentKey.get('/api/me')).body.scopes.join() === wanted.join(), {
      withinMs: 1_000,
    })
    const member = await database.first<{ role: string }>`
      select role from members where project_id = ${asProject(data.project_id)} and user_id = ${asUser(me.user.id)}`
    assert.equal(member?.role, 'admin')
  }
})

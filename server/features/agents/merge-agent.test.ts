import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  askForCode,
  asProject,
  asUser,
  claimAs,
  dataOf,
  eventsIn,
  newAddress,
  nobody,
  registerAnonymous,
} from '../../../tests/support/agents.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { capturedFor } from '../../../tests/support/visitor.ts'
import type { ProjectId, UserId } from '../../base/ids.ts'
import type { Scope } from '../../operations/context.ts'
import { insertToken, makeKey } from '../tokens/index.ts'
import { moveRest } from './move-rest.ts'
import { tablesOfProject } from './move-things.ts'

const app = await startApp()
const { database } = app.services

/** An agent's own key reads only: what it is to bring along is made through another. */
async function keyFor(project_id: ProjectId, user_id: UserId, scopes: Scope[] = ['read', 'write']): Promise<string> {
  const key = makeKey(false)
  await database.transaction((tx) =>
    insertToken(tx, { project_id, user_id, name: 'more', key, scopes, mailbox_id: null, expires_at: null }),
  )
  return key
}

test('every table that belongs to a project is thought of', async () => {
  const { rows } = await database.execute(
    `select table_name as name from information_schema.columns where table_schema = 'public' and column_name = 'project_id'`,
  )
  assert.deepEqual(rows.map(({ name }) => name).sort(), Object.keys(tablesOfProject).sort())
})

test('a merge brings everything into the account of a human who is there already, in one piece', async () => {
  const project = await app.newProject()
  const { body: me } = await project.get('/api/me')
  const { body: own } = await project.post('/lists', { name: 'Their own' })
  await project.post(`/lists/${own.id}/subscribers`, {
    email: 'Shared@example.org',
    name: 'As the human knows',
    verified: true,
    tags: ['vip'],
  })
  await project.post('/suppressions', { email: 'both@example.org' })
  await database.run`update suppressions set reason = 'complaint' where project_id = ${project.id}`

  const agent = await registerAnonymous(app)
  const agentProject = asProject(agent.project_id)
  const writer = speaking(app.url, await keyFor(agentProject, asUser(agent.user_id)))
  const { body: list } = await writer.post('/lists', { name: 'Brought along' })
  await writer.post(`/lists/${list.id}/subscribers`, {
    email: 'shared@example.org',
    name: 'As the agent knows',
    verified: true,
    tags: ['vip', 'new'],
    metadata: { seen: 1 },
  })
  const { body: alone } = await writer.post(`/lists/${list.id}/subscribers`, { email: 'alone@example.org', verified: true })
  const { body: pending } = await writer.post(`/lists/${list.id}/subscribers`, { email: 'pending@example.org' })
  for (const email of ['both@example.org', 'agent-only@example.org']) await writer.post('/suppressions', { email })
  await database.run`insert into usage_periods (project_id, period_start, used) values (${agentProject}, '2026-01-01', 3), (${agentProject}, '2026-02-01', 4), (${project.id}, '2026-01-01', 5)`
  await until(
    'the confirmation is sent',
    () => database.first`select 1 from messages where project_id = ${agentProject} and status = 'delivered'`,
  )
  await project.events()

  const data = await claimAs(app, agent.claim_token, me.user.email)
  assert.deepEqual([data.mode, data.user_id, data.project_id], ['merge', me.user.id, me.project.id])
  const arrived = await project.eventsWithData()
  assert.deepEqual(arrived.map(({ type }) => type).sort(), ['list.created', 'mailbox.created', 'mailbox.created'])
  const told = arrived.find(({ type }) => type === 'list.created')?.data.list as { id: string; subscriber_count: number }
  assert.deepEqual([told.id, told.subscriber_count], [list.id, 2])

  const lists = (await project.get('/lists')).body as { id: string; subscriber_count: number }[]
  assert.deepEqual(
    lists.map(({ id, subscriber_count }) => [id, subscriber_count]).sort(),
    [
      [own.id, 1],
      [list.id, 2],
    ].sort(),
  )
  const subscribers = (await project.get(`/lists/${list.id}/subscribers`)).body as { id: string; email: string }[]
  assert.deepEqual(subscribers.map(({ email }) => email).sort(), ['alone@example.org', 'pending@example.org', 'shared@example.org'])
  assert.ok(subscribers.some(({ id }) => id === alone.id) && subscribers.some(({ id }) => id === pending.id), 'ids stay')

  const contacts = (await project.get('/contacts')).body as { id: string; email: string; list_count: number }[]
  assert.deepEqual(contacts.map(({ email, list_count }) => [email.toLowerCase(), list_count]).sort(), [
    ['alone@example.org', 1],
    ['pending@example.org', 1],
    ['shared@example.org', 2],
  ])
  const shared = contacts.find(({ list_count }) => list_count === 2)
  const { body: contact } = await project.get(`/contacts/${shared?.id}`)
  assert.deepEqual([contact.name, contact.tags, contact.metadata], ['As the human knows', ['vip', 'new'], { seen: 1 }])

  const suppressed = (await project.get('/suppressions')).body as { email: string; reason: string }[]
  assert.deepEqual(suppressed.map(({ email, reason }) => [email, reason]).sort(), [
    ['agent-only@example.org', 'manual'],
    ['both@example.org', 'complaint'],
  ])
  assert.equal((await project.post(`/lists/${list.id}/subscribers`, { email: 'agent-only@example.org', verified: true })).status, 422)
  const usage = await database.many`select used from usage_periods where project_id = ${project.id} order by period_start`
  assert.deepEqual(usage, [{ used: 8 }, { used: 4 }])
  assert.equal((await project.get(`/contacts/${contacts.find(({ email }) => email === 'pending@example.org')?.id}/emails`)).body.length, 1)
  const left = await database.many`
    select 'mailboxes' as place from mailboxes where project_id = ${agentProject} union select 'lists' from lists where project_id = ${agentProject}
    union select 'contacts' from contacts where project_id = ${agentProject} union select 'subscribers' from subscribers where project_id = ${agentProject}
    union select 'suppressions' from suppressions where project_id = ${agentProject} union select 'keys' from api_keys where project_id = ${agentProject}
    union select 'counters' from list_counters where project_id = ${agentProject} union select 'messages' from messages where project_id = ${agentProject}
    union select 'usage' from usage_periods where project_id = ${agentProject}`
  assert.deepEqual(left, [])
})

test('the first key works on, as the human’s, and may write; without CLAIM_WIDENS_FIRST_KEY it only reads', async (t) => {
  const careful = await startApp({ CLAIM_WIDENS_FIRST_KEY: 'false' })
  t.after(() => careful.stop())
  for (const [at, expected] of [
    [app, ['read', 'write']],
    [careful, ['read']],
  ] as const) {
    const agent = await registerAnonymous(at)
    const first = speaking(at.url, agent.credential)
    assert.equal((await first.get('/api/me')).body.user.id, agent.user_id)
    const data = await claimAs(at, agent.claim_token, newAddress())
    const me = await until(
      'the key is the human’s',
      async () => {
        const { body } = await first.get('/api/me')
        return body.user.id === data.user_id && body
      },
      { withinMs: 1_000 },
    )
    assert.deepEqual([me.project.id, me.scopes], [data.project_id, expected])
    assert.equal((await first.post('/lists', { name: 'Written' })).status, expected.length === 2 ? 201 : 403)
    const { body: fresh } = await speaking(at.url, data.credential).get('/api/me')
    assert.deepEqual([fresh.user.id, fresh.scopes], [data.user_id, ['read', 'write']])
    const bound = await at.services.database.many<{ agent_mailbox_id: string }>`
      select distinct agent_mailbox_id from api_keys where project_id = ${asProject(data.project_id)}`
    assert.equal(bound.length, 1, 'both keys may still send from the agent’s mailbox')
  }
})

test('a human who is new gets an account and a home; the agent is nobody any more', async () => {
  const agent = await registerAnonymous(app)
  const email = newAddress('Newcomer')
  const data = await claimAs(app, agent.claim_token, email)
  assert.deepEqual(await eventsIn(app, data.project_id), ['mailbox.created'])
  assert.deepEqual(await eventsIn(app, agent.project_id), ['mailbox.created'], 'what happened there stays there')
  const gone = await database.first<{ deleted: boolean; disabled: boolean; parent_id: string | null }>`
    select p.deleted_at is not null as deleted, u.disabled_at is not null as disabled, u.parent_id
    from projects p join users u on u.id = p.owner_id where p.id = ${asProject(agent.project_id)}`
  assert.deepEqual(gone, { deleted: true, disabled: true, parent_id: null })
  const home = await database.first<{ plan: string; role: string }>`
    select p.plan, m.role from projects p join members m on m.project_id = p.id where p.id = ${asProject(data.project_id)}`
  assert.deepEqual(home, { plan: 'free', role: 'owner' })
})

test('what was under way during the merge follows it', async () => {
  const agent = await registerAnonymous(app)
  const from = asProject(agent.project_id)
  const put = (status: string, id: string) => database.run`
    insert into messages (project_id, id, kind, recipient, recipient_key, mail, status, next_attempt_at)
    values (${from}, ${id}, 'test', 'x@example.org', 'x@example.org', '{}', ${status}, now() + interval '1 day')`
  const [sending, queued] = ['018f0000-0000-7000-8000-000000000001', '018f0000-0000-7000-8000-000000000002']
  await put('sending', sending)
  await put('queued', queued)
  const data = await claimAs(app, agent.claim_token, newAddress())
  const to = asProject(data.project_id)
  const placeOf = async (id: string) =>
    (await database.first<{ project_id: ProjectId }>`select project_id from messages where id = ${id}`)?.project_id
  assert.deepEqual([await placeOf(sending), await placeOf(queued)], [from, to])
  await database.run`update messages set status = 'delivered' where id = ${sending}`
  await database.run`
    insert into mailboxes (project_id, id, address, address_key, type, status)
    values (${from}, gen_random_uuid(), 'late@posthaste.test', 'late@posthaste.test', 'persistent', 'active')`
  await moveRest.run(app.services, { from, to })
  await moveRest.run(app.services, { from, to })
  assert.equal(await placeOf(sending), to)
  assert.deepEqual(await eventsIn(app, data.project_id), ['mailbox.created', 'mailbox.created'])
})

test('sent mail, bookings, challenges and idempotency keys come along; where both have the same key, the human’s counts', async () => {
  const project = await app.newProject()
  const agent = await registerAnonymous(app)
  const from = asProject(agent.project_id)
  for (const status of ['sent', 'sending'])
    await database.run`
      insert into emails (project_id, id, mailbox_id, from_address, to_address, to_key, status, created_at, updated_at)
      values (${from}, gen_random_uuid(), gen_random_uuid(), 'a@posthaste.test', 'b@example.org', 'b@example.org', ${status}, now(), now())`
  for (const [place, key, lease] of [
    [from, 'both', null],
    [project.id, 'both', null],
    [from, 'agent', null],
    [from, 'under way', app.clock.now()],
  ])
    await database.run`
      insert into idempotency_keys (project_id, key, operation, body_digest, lease_until, created_at)
      values (${place}, ${key}, 'emails.send', 'x', ${lease}, now())`
  await database.run`
    insert into usage_reservations (project_id, id, period_start, count, created_at) values (${from}, gen_random_uuid(), '2026-01-01', 1, now())`
  await database.run`
    insert into payment_challenges (project_id, id, user_id, operation, target, emails, amount_cents, body_digest, created_at, expires_at)
    values (${from}, 'challenge', ${asUser(agent.user_id)}, 'emails.send', '/v1/emails', 1, 50, 'x', now(), now())`
  await claimAs(app, agent.claim_token, project.email)
  const rows = await database.many<{ place: string }>`
    select place || case project_id when ${from} then ' left' else ' moved' end as place from (
      select 'email ' || status as place, project_id from emails where to_key = 'b@example.org'
      union all select 'key ' || key, project_id from idempotency_keys
      union all select 'reservation', project_id from usage_reservations union all select 'challenge', project_id from payment_challenges) things
    where project_id in (${from}, ${project.id}) order by 1`
  assert.deepEqual(
    rows.map(({ place }) => place),
    [
      'challenge moved',
      'email sending left',
      'email sent moved',
      'key agent moved',
      'key both left',
      'key both moved',
      'key under way left',
      'reservation moved',
    ],
  )
})

test('a merge that fails changes nothing, and the same code does it when it can be done', async () => {
  const agent = await registerAnonymous(app)
  const email = newAddress()
  const otp = await askForCode(app, agent.claim_token, email)
  await database.execute(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`)
  await database.execute(`create trigger refuse before update on mailboxes for each row execute function refuse()`)
  const { status, body } = await nobody(app).post('/agent/auth/claim/complete', { claim_token: agent.claim_token, otp })
  await database.execute('drop trigger refuse on mailboxes')
  assert.deepEqual([status, body.ok, body.error.code], [500, false, 'internal_error'])
  assert.equal((await database.many`select 1 from users where email_key = ${email}`).length, 0)
  assert.equal((await speaking(app.url, agent.credential).get('/api/me')).body.user.id, agent.user_id)
  const again = await nobody(app).post('/agent/auth/claim/complete', { claim_token: agent.claim_token, otp })
  assert.equal(dataOf(again, 200).mode, 'merge')
})

test('a link to confirm that was sent before the merge still works after it', async () => {
  const agent = await registerAnonymous(app)
  const writer = speaking(app.url, await keyFor(asProject(agent.project_id), asUser(agent.user_id)))
  const { body: list } = await writer.post('/lists', { name: 'Early birds' })
  const email = newAddress('bird')
  await writer.post(`/lists/${list.id}/subscribers`, { email })
  const mail = await until('the mail', async () => (await capturedFor(app, email))[0])
  const link = /http\S+\/confirm\/[\w-]+/.exec(mail.text ?? '')?.[0] ?? assert.fail(mail.text)
  const data = await claimAs(app, agent.claim_token, newAddress())
  assert.equal((await fetch(link)).status, 200)
  const confirmed = await fetch(link, { method: 'POST' })
  assert.match(await confirmed.text(), /You are subscribed/)
  const { body } = await speaking(app.url, data.credential).get(`/lists/${list.id}/subscribers`)
  assert.deepEqual(
    body.map((one: { status: string }) => one.status),
    ['active'],
  )
})

test('contacts that are added in both places while they merge end as one each', async () => {
  const project = await app.newProject()
  const { body: me } = await project.get('/api/me')
  const { body: own } = await project.post('/lists', { name: 'Racing' })
  const agent = await registerAnonymous(app)
  const writer = speaking(app.url, await keyFor(asProject(agent.project_id), asUser(agent.user_id)))
  const { body: list } = await writer.post('/lists', { name: 'Raced' })
  const emails = Array.from({ length: 30 }, (_, index) => `racer-${index}@example.org`)
  for (const email of emails) await writer.post(`/lists/${list.id}/subscribers`, { email, verified: true })
  const otp = await askForCode(app, agent.claim_token, me.user.email)
  const [done, ...added] = await Promise.all([
    nobody(app).post('/agent/auth/claim/complete', { claim_token: agent.claim_token, otp }),
    ...emails.map((email) => project.post(`/lists/${own.id}/subscribers`, { email, verified: true })),
  ])
  dataOf(done, 200)
  for (const { status } of added) assert.equal(status, 201)
  const contacts = (await project.get('/contacts?limit=200')).body as { email: string; list_count: number }[]
  assert.equal(contacts.length, 30)
  assert.ok(contacts.every(({ list_count }) => list_count === 2))
})

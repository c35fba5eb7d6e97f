import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  asProject,
  assertNo,
  asUser,
  dataOf,
  eventsIn,
  newAddress,
  nobody,
  registerAnonymous,
  stepsOf,
} from '../../../tests/support/agents.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { capturedFor, codeFor } from '../../../tests/support/visitor.ts'

const app = await startApp()
const { database } = app.services
const register = (body: object) => nobody(app).post('/agent/auth', body)
const counts = async () =>
  (await database.first`select (select count(*) from users) as users, (select count(*) from agent_registrations) as registrations,
    (select count(*) from api_keys) as keys, (select count(*) from email_codes) as codes`) as Record<string, number>

test('an agent that nobody vouches for gets an account, a mailbox, and a key that reads', async () => {
  const data = dataOf(await register({ type: 'anonymous' }), 201)
  const { credential, claim_token, user_id, project_id, mailbox, registration_id, claim_token_expires, ...rest } = data
  assert.match(credential, /^sk_[A-Za-z0-9]{38}$/)
  assert.match(claim_token, /^ct_[\w-]{43}$/)
  assert.match(user_id, /^usr_/)
  assert.match(registration_id, /^reg_/)
  assert.match(mailbox.id, /^mbx_/)
  assert.match(mailbox.address, /^[a-z]+-[a-z]+(-\d+)?@posthaste\.test$/)
  assert.deepEqual(rest, {
    registration_type: 'anonymous',
    post_claim_scopes: ['read', 'write'],
    credential_type: 'api_key',
    credential_expires: null,
    scopes: ['read'],
  })
  const days = (Date.parse(claim_token_expires) - app.clock.now().getTime()) / 86_400_000
  assert.ok(days > 29.9 && days <= 30, `${days}`)
  assert.deepEqual(await eventsIn(app, project_id), ['mailbox.created'])
  assert.deepEqual(await stepsOf(app, registration_id), ['registration.created'])

  const agent = speaking(app.url, credential)
  const me = await agent.get('/api/me')
  const name = mailbox.address.split('@')[0]
  assert.deepEqual([me.body.user.id, me.body.user.kind, me.body.user.name, me.body.user.email], [user_id, 'agent', name, mailbox.address])
  assert.deepEqual([me.body.project.id, me.body.project.slug, me.body.scopes], [project_id, name, ['read']])
  assert.equal((await agent.get('/lists')).status, 200)
  assert.equal((await agent.post('/lists', { name: 'No' })).status, 403)
  assert.equal((await speaking(app.url, credential).get(`/v1/../${name}/${name}/v1/lists`)).status, 200)
  const row = await database.first`
    select p.plan, m.type, m.status, k.agent_mailbox_id = m.id as given from projects p
    join mailboxes m on m.project_id = p.id join api_keys k on k.project_id = p.id where p.id = ${asProject(project_id)}`
  assert.deepEqual(row, { plan: 'anonymous', type: 'persistent', status: 'active', given: true })
})

test('two agents are strangers to each other', async () => {
  const [one, other] = [await registerAnonymous(app), await registerAnonymous(app)]
  for (const field of ['credential', 'claim_token', 'user_id', 'project_id', 'registration_id'])
    assert.notEqual(one[field], other[field], field)
  assert.notEqual(one.mailbox.address, other.mailbox.address)
  const made = await database.first<{ kind: string; email_key: string | null }>`select * from users where id = ${asUser(one.user_id)}`
  assert.deepEqual([made?.kind, made?.email_key], ['agent', null], 'its address is no way to sign in')
})

test('agents that come at once all get a name of their own', async () => {
  const all = await Promise.all(Array.from({ length: 12 }, () => registerAnonymous(app)))
  assert.equal(new Set(all.map((data) => data.mailbox.address)).size, 12)
})

test('the kind of credential may be named, if it is the one there is', async () => {
  dataOf(await register({ type: 'anonymous', requested_credential_type: 'api_key' }), 201)
  const before = await counts()
  for (const type of ['anonymous', 'identity_assertion'])
    assertNo(
      await register({
        type,
        requested_credential_type: 'jwt',
        assertions: [{ type: 'verified_email', email: newAddress() }],
      }),
      400,
      'unsupported_credential_type',
    )
  assert.deepEqual(await counts(), before)
})

test('an agent for a human gets a claim token, the human a code, and nothing else is made; both spellings do the same', async () => {
  const bodies = (email: string) => [
    { type: 'identity_assertion', assertions: [{ type: 'verified_email', email }] },
    { type: 'identity_assertion', assertion_type: 'verified_email', assertion: email },
    { type: 'identity_assertion', assertions: [{ type: 'verified_email', email }], link: true },
  ]
  for (const index of [0, 1, 2]) {
    const email = newAddress()
    const before = await counts()
    const data = dataOf(await register(bodies(email)[index] as object), 201)
    const { claim_token, claim_token_expires, registration_id, message, ...rest } = data
    assert.match(claim_token, /^ct_[\w-]{43}$/)
    assert.match(message, /code was e-mailed/)
    assert.deepEqual(rest, {
      registration_type: 'email-verification',
      post_claim_scopes: ['read', 'write'],
      verification_required: true,
    })
    const hours = (Date.parse(claim_token_expires) - app.clock.now().getTime()) / 3_600_000
    assert.ok(hours > 23.9 && hours <= 24, `${hours}`)
    assert.match(await codeFor(app, email), /^\d{6}$/)
    assert.match((await capturedFor(app, email))[0]?.text ?? '', index === 2 ? /linked to your account/ : /part of your account/)
    assert.deepEqual(await stepsOf(app, registration_id), ['registration.created', 'claim.requested', 'otp.generated'])
    const after = await counts()
    assert.deepEqual(
      [after.users, after.keys, after.registrations, after.codes],
      [before.users, before.keys, (before.registrations as number) + 1, (before.codes as number) + 1],
    )
  }
})

test('nobody learns from the answer whether an address has an account', async () => {
  const project = await app.newProject()
  const known = (await project.get('/api/me')).body.user.email
  const shapes = []
  for (const email of [known, newAddress()]) {
    const { status, headers, body } = await register({ type: 'identity_assertion', assertions: [{ type: 'verified_email', email }] })
    const { claim_token: _token, claim_token_expires: _end, registration_id: _id, ...data } = body.data
    const names = [...headers.keys()].sort()
    shapes.push({ status, names, data })
  }
  assert.deepEqual(shapes[0], shapes[1])
})

test('what is no registration is refused in the envelope, names the field, and changes nothing', async () => {
  const before = await counts()
  const wrong: [object | string, RegExp][] = [
    [{}, /^type: is required/],
    [{ type: 'human' }, /^type: must be one of anonymous, identity_assertion/],
    [{ type: 'identity_assertion' }, /^assertions: is required/],
    [{ type: 'identity_assertion', assertions: [] }, /^assertions: must have one item/],
    [
      { type: 'identity_assertion', assertions: [{ type: 'verified_phone', email: 'a@b.org' }] },
      /^assertions\[0\]\.type: must be verified_email/,
    ],
    [{ type: 'identity_assertion', assertions: [{ type: 'verified_email', email: 'nonsense' }] }, /^assertions\[0\]\.email: /],
    [
      { type: 'identity_assertion', assertions: Array(2).fill({ type: 'verified_email', email: 'a@b.org' }) },
      /^assertions: must have one item/,
    ],
    [{ type: 'identity_assertion', assertion_type: 'id-jag', assertion: 'a@b.org' }, /^assertion_type: must be verified_email/],
    ['{"type":', /^body: /],
    ['[]', /^body: /],
  ]
  for (const [body, message] of wrong) {
    const raw = typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await nobody(app).request('POST', '/agent/auth', { body: raw, headers: { 'content-type': 'application/json' } })
    assertNo(answer, 422, 'validation_error')
    assert.match(answer.body.error.message, message)
  }
  assertNo(
    await nobody(app).request('POST', '/agent/auth', { body: 'x', headers: { 'content-type': 'text/plain' } }),
    422,
    'validation_error',
  )
  assertNo(await nobody(app).get('/agent/auth'), 405, 'method_not_allowed')
  assertNo(await nobody(app).post('/agent/nothing', {}), 404, 'not_found')
  assert.deepEqual(await counts(), before)
})

test('ways to register can be switched off', async (t) => {
  const start = async (AGENT_SIGN_UPS: string) => {
    const other = await startApp({ AGENT_SIGN_UPS })
    t.after(() => other.stop())
    return (body: object) => nobody(other).post('/agent/auth', body)
  }
  const byEmail = () => ({ type: 'identity_assertion', assertions: [{ type: 'verified_email', email: newAddress() }] })
  const off = await start('off')
  assertNo(await off({ type: 'anonymous' }), 400, 'anonymous_not_enabled')
  assertNo(await off(byEmail()), 400, 'verified_email_not_enabled')
  const email = await start('email')
  assertNo(await email({ type: 'anonymous' }), 400, 'anonymous_not_enabled')
  dataOf(await email(byEmail()), 201)
})

test('one network address may register so many an hour, in each way, and everybody together so many', async (t) => {
  const few = await startApp({ AGENT_REGISTRATIONS_PER_HOUR: '1' })
  t.after(() => few.stop())
  const from = (ip: string, body: object = { type: 'anonymous' }) =>
    nobody(few).request('POST', '/agent/auth', {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', 'x-forwarded-for': ip },
    })
  dataOf(await from('192.0.2.1'), 201)
  const refused = await from('192.0.2.1')
  assertNo(refused, 429, 'rate_limited')
  const wait = Number(refused.headers.get('retry-after'))
  assert.ok(wait > 3_500 && wait <= 3_600, `${wait}`)
  const byEmail = () => ({ type: 'identity_assertion', assertions: [{ type: 'verified_email', email: newAddress() }] })
  for (let time = 0; time < 12; time++) dataOf(await from('192.0.2.1', byEmail()), 201)
  assertNo(await from('192.0.2.1', byEmail()), 429, 'rate_limited')
  // At once, from as many places: twenty in all.
  const all = await Promise.all(Array.from({ length: 25 }, (_, index) => from(`198.51.100.${index}`)))
  assert.equal(all.filter(({ status }) => status === 201).length, 19)
  for (const answer of all.filter(({ status }) => status !== 201)) assertNo(answer, 429, 'rate_limited')
  few.clock.advance(3_601_000)
  dataOf(await from('192.0.2.1'), 201)
})

test('requests are counted like any others, and too many are refused in the envelope', async (t) => {
  const slow = await startApp({ RATE_LIMIT_PER_MINUTE: '3' })
  t.after(() => slow.stop())
  const answers = []
  for (let time = 0; time < 8; time++) answers.push(await nobody(slow).post('/agent/auth', { type: 'nonsense' }))
  const refused = answers.find(({ status }) => status === 429) ?? assert.fail('none refused')
  assertNo(refused, 429, 'rate_limited')
  assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/)
  for (const { headers } of answers) assert.match(headers.get('x-ratelimit-remaining') ?? '', /^\d+$/)
})

test('neither the claim token, nor the key, nor the code is anywhere in the database', async () => {
  const data = await registerAnonymous(app)
  const email = newAddress()
  const forHuman = dataOf(await register({ type: 'identity_assertion', assertions: [{ type: 'verified_email', email }] }), 201)
  const code = await codeFor(app, email)
  await until('the mail is settled', () => database.first`select 1 from messages where recipient = ${email} and status = 'delivered'`)
  const { rows: tables } = await database.execute(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_name <> 'captured_messages'`,
  )
  for (const { name } of tables) {
    const { rows } = await database.execute(`select t::text as row from ${name} t`)
    const all = rows.map((row) => row.row).join('\n')
    for (const secret of [data.credential, data.claim_token, forHuman.claim_token]) {
      assert.ok(!all.includes(secret), `${name} holds a secret`)
      assert.ok(!all.includes(Buffer.from(secret).toString('hex')), `${name} holds a secret as bytes`)
    }
    if (name === 'email_codes' || name === 'messages' || name === 'agent_registrations')
      assert.ok(!new RegExp(`\\b${code}\\b`).test(all), `${name} holds the code`)
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  askForCode,
  assertNo,
  claimAs,
  dataOf,
  eventsIn,
  newAddress,
  nobody,
  registerAnonymous,
  stepsOf,
  wrongCode,
} from '../../../tests/support/agents.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { mailTo } from '../../../tests/support/received-mail.ts'
import { startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { until } from '../../../tests/support/until.ts'
import { capturedFor, codeFor } from '../../../tests/support/visitor.ts'

const app = await startApp()
const { database } = app.services
const complete = (claim_token: string, otp: string) => nobody(app).post('/agent/auth/claim/complete', { claim_token, otp })
const minuteMs = 60_000

test('the right code, once: a key that reads and writes, and the way is in the audit log', async () => {
  const agent = await registerAnonymous(app)
  const email = newAddress()
  const otp = await askForCode(app, agent.claim_token, email)
  const { credential, user_id, project_id, ...rest } = dataOf(await complete(agent.claim_token, ` ${otp.slice(0, 3)} ${otp.slice(3)}`), 200)
  assert.deepEqual(rest, {
    credential_type: 'api_key',
    credential_expires: null,
    scopes: ['read', 'write'],
    mode: 'merge',
    mailbox: agent.mailbox,
    registration_id: agent.registration_id,
  })
  assert.notEqual(user_id, agent.user_id)
  const me = (await speaking(app.url, credential).get('/api/me')).body
  assert.deepEqual([me.user.id, me.user.email, me.user.kind, me.project.id], [user_id, email, 'human', project_id])
  assert.deepEqual(await stepsOf(app, agent.registration_id), [
    'registration.created',
    'claim.requested',
    'otp.generated',
    'claim.confirmed',
  ])
  for (const code of [otp, wrongCode(otp)]) assertNo(await complete(agent.claim_token, code), 409, 'previously_claimed')
})

test('an agent that named its human gets a key in the human’s project, and no account of its own', async () => {
  const email = newAddress()
  const { claim_token } = dataOf(
    await nobody(app).post('/agent/auth', { type: 'identity_assertion', assertions: [{ type: 'verified_email', email }] }),
    201,
  )
  const users = async () => (await database.many`select 1 from users where kind = 'agent'`).length
  const before = await users()
  const data = dataOf(await complete(claim_token, await codeFor(app, email)), 200)
  assert.deepEqual([data.mode, data.scopes, data.mailbox], ['merge', ['read', 'write'], null])
  assert.equal(await users(), before)
  const key = speaking(app.url, data.credential)
  assert.equal((await key.get('/api/me')).body.user.email, email)
  assert.equal((await key.post('/lists', { name: 'Mine' })).status, 201)
})

test('the same over a real mail server', async (t) => {
  const peer = await startSmtpPeer()
  t.after(() => peer.close())
  const sending = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
  t.after(() => sending.stop())
  const { claim_token } = await registerAnonymous(sending)
  const email = newAddress()
  dataOf(await nobody(sending).post('/agent/auth/claim', { claim_token, email }), 200)
  const mail = await mailTo(peer, email)
  assert.equal(mail.headers.find(({ key }) => key === 'auto-submitted')?.value, 'auto-generated')
  const otp = /^(\d{6})$/m.exec(mail.text ?? '')?.[1] ?? assert.fail(mail.text)
  assert.ok(mail.html?.includes(otp))
  const data = dataOf(await nobody(sending).post('/agent/auth/claim/complete', { claim_token, otp }), 200)
  assert.equal((await speaking(sending.url, data.credential).get('/lists')).status, 200)
})

test('before a code was asked for there is none', async () => {
  const { claim_token } = await registerAnonymous(app)
  assertNo(await complete(claim_token, '123456'), 400, 'otp_not_generated')
  assertNo(await complete(`${claim_token}x`, '123456'), 401, 'invalid_claim_token')
  assertNo(await complete('', ''), 401, 'invalid_claim_token')
})

test('a code is of no use with another claim token', async () => {
  const [one, other] = [await registerAnonymous(app), await registerAnonymous(app)]
  const [otp, otherCode] = [await askForCode(app, one.claim_token, newAddress()), await askForCode(app, other.claim_token, newAddress())]
  if (otp !== otherCode) {
    assertNo(await complete(one.claim_token, otherCode), 401, 'otp_invalid')
    assertNo(await complete(other.claim_token, otp), 401, 'otp_invalid')
  }
  for (const { project_id } of [one, other]) assert.deepEqual(await eventsIn(app, project_id), ['mailbox.created'])
  dataOf(await complete(one.claim_token, otp), 200)
  dataOf(await complete(other.claim_token, otherCode), 200)
})

test('a code to sign in with is no code to claim with', async () => {
  const email = newAddress()
  const { claim_token } = await registerAnonymous(app)
  const claimCode = await askForCode(app, claim_token, email)
  await database.run`update email_codes set purpose = 'sign_in' where email_key = ${email}`
  assertNo(await complete(claim_token, claimCode), 400, 'otp_not_generated')
})

test('five wrong tries end a code, the right one included, also when they come at once', async (t) => {
  const other = await startApp()
  t.after(() => other.stop())
  const attempt = (claim_token: string, otp: string) => nobody(other).post('/agent/auth/claim/complete', { claim_token, otp })
  const [slow, fast] = [await registerAnonymous(other), await registerAnonymous(other)]
  const [slowCode, email] = [await askForCode(other, slow.claim_token, newAddress()), newAddress()]
  for (let time = 0; time < 5; time++) assertNo(await attempt(slow.claim_token, wrongCode(slowCode)), 401, 'otp_invalid')
  assertNo(await attempt(slow.claim_token, slowCode), 410, 'otp_attempts_exceeded')

  const code = await askForCode(other, fast.claim_token, email)
  const answers = await Promise.all(Array.from({ length: 40 }, () => attempt(fast.claim_token, wrongCode(code))))
  const codes = Map.groupBy(answers, ({ body }) => body.error.code as string)
  assert.deepEqual([codes.get('otp_invalid')?.length, codes.get('otp_attempts_exceeded')?.length], [5, 35])
  assertNo(await attempt(fast.claim_token, code), 410, 'otp_attempts_exceeded')

  assertNo(await nobody(other).post('/agent/auth/claim', { claim_token: fast.claim_token, email }), 429, 'rate_limited')
  other.clock.advance(minuteMs + 1_000)
  assert.equal((await claimAs(other, fast.claim_token, email)).mode, 'merge')
})

test('a code ends after ten minutes', async (t) => {
  const other = await startApp()
  t.after(() => other.stop())
  const { claim_token } = await registerAnonymous(other)
  const email = newAddress()
  const otp = await askForCode(other, claim_token, email)
  other.clock.advance(10 * minuteMs + 1_000)
  assertNo(await nobody(other).post('/agent/auth/claim/complete', { claim_token, otp }), 410, 'otp_expired')
  assert.equal((await claimAs(other, claim_token, email)).mode, 'merge')
})

test('of many who bring the right code at once, one wins; everybody else is told that it is done', async () => {
  for (const link of [false, true]) {
    const { claim_token } = await registerAnonymous(app)
    const email = newAddress()
    const otp = await askForCode(app, claim_token, email, link)
    const answers = await Promise.all(Array.from({ length: 5 }, () => complete(claim_token, otp)))
    const won = answers.filter(({ status }) => status === 200)
    assert.equal(won.length, 1, JSON.stringify(answers.map(({ body }) => body)))
    for (const answer of answers.filter(({ status }) => status !== 200)) assertNo(answer, 409, 'previously_claimed')
    const keys = await database.many`
      select 1 from api_keys k join users u on u.id = k.user_id or u.id = (select parent_id from users where id = k.user_id) where u.email = ${email}`
    assert.equal(keys.length, 2, 'the first key and one new one')
  }
})

test('two agents that one new human claims at once end in one account', async () => {
  const [one, other] = [await registerAnonymous(app), await registerAnonymous(app)]
  const email = newAddress()
  const first = await askForCode(app, one.claim_token, email)
  await database.run`update email_codes set created_at = created_at - interval '2 minutes' where email_key = ${email}`
  const second = await askForCode(app, other.claim_token, email)
  const [a, b] = await Promise.all([complete(one.claim_token, first), complete(other.claim_token, second)])
  assert.equal(dataOf(a, 200).user_id, dataOf(b, 200).user_id)
  assert.equal(dataOf(a, 200).project_id, dataOf(b, 200).project_id)
})

test('where people come by invitation, a claim makes no account, and only the mailbox is told so', async (t) => {
  const closed = await startApp({ SIGN_UPS: 'invited' })
  t.after(() => closed.stop())
  const known = (await (await closed.newProject()).get('/api/me')).body.user.email
  const { claim_token } = await registerAnonymous(closed)
  assert.equal((await claimAs(closed, claim_token, known)).mode, 'merge')

  const { claim_token: other } = await registerAnonymous(closed)
  const email = newAddress()
  dataOf(await nobody(closed).post('/agent/auth/claim', { claim_token: other, email }), 200)
  const [mail] = await until('the mail', async () => {
    const mails = await capturedFor(closed, email)
    return mails.length > 0 && mails
  })
  assert.match(mail?.text ?? '', /no account for this address/)
  assert.doesNotMatch(mail?.text ?? '', /\d{6}/)
  assertNo(await nobody(closed).post('/agent/auth/claim/complete', { claim_token: other, otp: '123456' }), 401, 'otp_invalid')
})

test('what is no proof is refused and names the field', async () => {
  const { claim_token } = await registerAnonymous(app)
  for (const [body, message] of [
    [{ otp: '123456' }, /^claim_token: is required/],
    [{ claim_token }, /^otp: is required/],
    [{ claim_token, otp: 123456 }, /^otp: must be a string/],
  ] as [object, RegExp][]) {
    const answer = await nobody(app).post('/agent/auth/claim/complete', body)
    assertNo(answer, 422, 'validation_error')
    assert.match(answer.body.error.message, message)
  }
})

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
} from '../../../tests/support/agents.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { until } from '../../../tests/support/until.ts'
import { capturedFor } from '../../../tests/support/visitor.ts'

const app = await startApp()
const claim = (body: object) => nobody(app).post('/agent/auth/claim', body)
const complete = (body: object) => nobody(app).post('/agent/auth/claim/complete', body)
const minuteMs = 60_000

test('a claim mails the human a code, and says what it will do', async () => {
  for (const link of [undefined, true]) {
    const { claim_token, registration_id, mailbox, project_id } = await registerAnonymous(app)
    const email = newAddress()
    const data = dataOf(await claim({ claim_token, email, link }), 200)
    const { expires_at, message, ...rest } = data
    assert.deepEqual(rest, { verification_required: true, registration_id, status: 'initiated' })
    assert.match(message, /code was e-mailed/)
    const minutes = (Date.parse(expires_at) - app.clock.now().getTime()) / minuteMs
    assert.ok(minutes > 9 && minutes <= 10, `${minutes}`)
    const [mail] = await until('the mail', async () => {
      const mails = await capturedFor(app, email)
      return mails.length > 0 && mails
    })
    assert.equal(mail?.from?.address, 'posthaste@posthaste.test')
    assert.ok(mail?.text?.includes(mailbox.address.split('@')[0]), 'it names the agent')
    assert.match(mail?.text ?? '', link ? /linked to your account/ : /part of your account/)
    assert.match(mail?.text ?? '', /^\d{6}$/m)
    assert.doesNotMatch(mail?.subject ?? '', /\d/)
    assert.deepEqual(await stepsOf(app, registration_id), ['registration.created', 'claim.requested', 'otp.generated'])
    assert.deepEqual(await eventsIn(app, project_id), ['mailbox.created'])
  }
})

test('asking again for the same human sends nothing while the code is open, and a new one when it has ended', async (t) => {
  const other = await startApp()
  t.after(() => other.stop())
  const { claim_token, registration_id } = await registerAnonymous(other)
  const email = newAddress()
  await askForCode(other, claim_token, email)
  const again = () => nobody(other).post('/agent/auth/claim', { claim_token, email })
  const [one, two] = [dataOf(await again(), 200), dataOf(await again(), 200)]
  assert.deepEqual(one, two)
  other.clock.advance(5 * minuteMs)
  assert.deepEqual(dataOf(await again(), 200), one)
  other.clock.advance(6 * minuteMs)
  const renewed = dataOf(await again(), 200)
  assert.ok(renewed.expires_at > one.expires_at)
  await until('the second mail', async () => (await capturedFor(other, email)).length === 2)
  assert.deepEqual((await stepsOf(other, registration_id)).slice(1), [
    'claim.requested',
    'otp.generated',
    'claim.requested',
    'otp.generated',
  ])
})

test('another human, or another way to be claimed, replaces the claim: the code before is of no use', async (t) => {
  const other = await startApp()
  t.after(() => other.stop())
  const { claim_token } = await registerAnonymous(other)
  const [first, second] = [newAddress('first'), newAddress('second')]
  const early = await askForCode(other, claim_token, first)
  const later = await askForCode(other, claim_token, second)
  const attempt = (otp: string) => nobody(other).post('/agent/auth/claim/complete', { claim_token, otp })
  if (early !== later) assertNo(await attempt(early), 401, 'otp_invalid')
  // The code said yes to a merge; it does not say yes to a link.
  assertNo(await nobody(other).post('/agent/auth/claim', { claim_token, email: second, link: true }), 429, 'rate_limited')
  other.clock.advance(minuteMs + 1_000)
  const newest = await askForCode(other, claim_token, second, true)
  if (later !== newest) assertNo(await attempt(later), 401, 'otp_invalid')
  assert.equal(dataOf(await attempt(newest), 200).mode, 'link')
})

test('a claim token that is unknown, of somebody else’s making, or done for is refused', async () => {
  const email = newAddress()
  const { claim_token, credential } = await registerAnonymous(app)
  for (const token of ['', 'ct_', 'ct_unknown', `${claim_token}x`, claim_token.slice(0, -1), credential, claim_token.toUpperCase()])
    assertNo(await claim({ claim_token: token, email }), 401, 'invalid_claim_token')
  assert.deepEqual(await capturedFor(app, email), [])
  await claimAs(app, claim_token, email)
  for (const address of [email, newAddress()]) assertNo(await claim({ claim_token, email: address }), 409, 'claimed_or_in_flight')
})

test('a claim token ends: after thirty days, or after one for an agent that named its human', async (t) => {
  const other = await startApp()
  t.after(() => other.stop())
  const anonymous = await registerAnonymous(other)
  const email = newAddress()
  const named = dataOf(
    await nobody(other).post('/agent/auth', { type: 'identity_assertion', assertions: [{ type: 'verified_email', email }] }),
    201,
  )
  const ask = (claim_token: string) => nobody(other).post('/agent/auth/claim', { claim_token, email: newAddress() })
  other.clock.advance(24 * 60 * minuteMs - 5_000)
  dataOf(await ask(named.claim_token), 200)
  other.clock.advance(10_000)
  assertNo(await ask(named.claim_token), 410, 'claim_expired')
  assertNo(await nobody(other).post('/agent/auth/claim/complete', { claim_token: named.claim_token, otp: '123456' }), 410, 'claim_expired')
  dataOf(await ask(anonymous.claim_token), 200)
  other.clock.advance(29 * 24 * 60 * minuteMs)
  assertNo(await ask(anonymous.claim_token), 410, 'claim_expired')
  const { status } = await nobody(other).request('GET', '/api/me', { headers: { authorization: `Bearer ${anonymous.credential}` } })
  assert.equal(status, 200, 'an agent that nobody claims stays')
})

test('one claim token, and one address, get five codes an hour, however they are mixed', async (t) => {
  const other = await startApp()
  t.after(() => other.stop())
  const agents = []
  for (let time = 0; time < 7; time++) agents.push(await registerAnonymous(other))
  const ask = (claim_token: string, email: string) => nobody(other).post('/agent/auth/claim', { claim_token, email })
  for (let time = 0; time < 5; time++) dataOf(await ask(agents[0].claim_token, newAddress()), 200)
  const tooMany = await ask(agents[0].claim_token, newAddress())
  assertNo(tooMany, 429, 'rate_limited')
  assert.ok(Number(tooMany.headers.get('retry-after')) > 3_000)

  const victim = newAddress('victim')
  for (const { claim_token } of agents.slice(1, 6)) {
    dataOf(await ask(claim_token, victim), 200)
    other.clock.advance(minuteMs + 1_000)
  }
  assertNo(await ask(agents[6].claim_token, victim), 429, 'rate_limited')
  await until('five mails', async () => (await capturedFor(other, victim)).length === 5)
  other.clock.advance(60 * minuteMs)
  dataOf(await ask(agents[6].claim_token, victim), 200)
})

test('a code to the agent’s own mailbox proves no human', async () => {
  const { claim_token, mailbox } = await registerAnonymous(app)
  const answer = await claim({ claim_token, email: mailbox.address.toUpperCase() })
  assertNo(answer, 422, 'validation_error')
  assert.match(answer.body.error.message, /^email: is the agent’s own mailbox/)
  assertNo(await complete({ claim_token, otp: '000000' }), 400, 'otp_not_generated')
})

test('nobody learns from the answer whether an address has an account', async () => {
  const known = (await (await app.newProject()).get('/api/me')).body.user.email
  const shapes = []
  for (const email of [known, newAddress()]) {
    const { claim_token } = await registerAnonymous(app)
    const { status, headers, body } = await claim({ claim_token, email })
    const { registration_id: _id, expires_at: _end, ...data } = body.data
    shapes.push({ status, names: [...headers.keys()].sort(), data })
  }
  assert.deepEqual(shapes[0], shapes[1])
})

test('what is no claim is refused and names the field', async () => {
  const { claim_token } = await registerAnonymous(app)
  for (const [body, message] of [
    [{ email: 'a@example.org' }, /^claim_token: is required/],
    [{ claim_token }, /^email: is required/],
    [{ claim_token, email: 'nonsense' }, /^email: /],
    [{ claim_token, email: 'a@example.org', link: 'yes' }, /^link: must be true or false/],
    [{ claim_token: 5, email: 'a@example.org' }, /^claim_token: must be a string/],
  ] as [object, RegExp][]) {
    const answer = await claim(body)
    assertNo(answer, 422, 'validation_error')
    assert.match(answer.body.error.message, message)
  }
})

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { Challenge, Receipt } from 'mppx'
import { Mppx, stripe } from 'mppx/client'
import { challengeOf, challengesOf, credentialFor, sender, startPayable, usageOf, useUp } from '../../../tests/support/payable.ts'
import { createTestClock, startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'

const clock = createTestClock()
const app = await startApp({}, { clock })
/** What the work does, one after the other; then it behaves well. */
const troubles: (() => void | Promise<void>)[] = []
const url = await startPayable(app, async () => troubles.shift()?.())
const { database } = app.services

async function newSender(used = 100) {
  const project = await app.newProject()
  await useUp(app, project, used)
  return { project, ...sender(url, project) }
}
const problem = (name: string) => `https://paymentauth.org/problems/${name}`

test('within the plan nobody is asked to pay', async () => {
  const { project, send } = await newSender(0)
  const { status, body, headers } = await send({ count: 100 })
  assert.deepEqual([status, body], [202, { count: 100 }])
  assert.equal(headers.get('payment-receipt'), null)
  assert.deepEqual(await usageOf(app, project), { used: 100, overage: 0, paid: 0 })
  assert.deepEqual(await challengesOf(app, project), [])
  assert.deepEqual(await project.events(), [])
})

test('over the plan it is 402 with a challenge for exactly this request, and nothing else is changed', async () => {
  const { project, send } = await newSender(40)
  const body = { count: 260 }
  const refusal = await send(body)
  assert.equal(refusal.status, 402)
  assert.equal(refusal.headers.get('cache-control'), 'no-store')
  assert.equal(refusal.headers.get('content-type'), 'application/problem+json; charset=utf-8')
  const { id, ...challenge } = challengeOf(refusal)
  const { externalId, ...request } = challenge.request
  assert.deepEqual(
    { ...challenge, request, expires: '' },
    {
      realm: new URL(app.config.API_URL).host,
      method: 'stripe',
      intent: 'charge',
      request: { amount: '60', currency: 'usd', methodDetails: { networkId: 'profile_sandbox', paymentMethodTypes: ['card', 'link'] } },
      description: '200 e-mails over the plan',
      digest: `sha-256=:${createHash('sha256').update(JSON.stringify(body)).digest('base64')}:`,
      expires: '',
      header: 'Payment-Authorization',
    },
  )
  assert.match(String(externalId), /^[0-9a-f-]{36}$/)
  const left = new Date(String(challenge.expires)).getTime() - clock.now().getTime()
  assert.ok(left > 9 * 60_000 && left <= 10 * 60_000)
  const { detail, error, ...rest } = refusal.body
  assert.deepEqual(rest, { type: problem('payment-required'), title: 'Payment Required', status: 402, challengeId: id })
  assert.equal(detail, error.message)
  assert.match(detail, /200 of 260 e-mails did not fit/)
  assert.deepEqual(
    { ...error, message: '' },
    {
      code: 'limit_exceeded',
      message: '',
      upgrade_url: `${app.config.API_URL}/billing/subscribe`,
      enable_overage_url: `${app.config.API_URL}/settings/overage`,
      payment: {
        method: 'stripe',
        intent: 'charge',
        currency: 'usd',
        amount: 60,
        description: '$0.003 per e-mail, at least $0.50',
        emails: 200,
        challenge_id: id,
      },
    },
  )
  assert.deepEqual(await usageOf(app, project), { used: 40, overage: 0, paid: 0 })
  assert.deepEqual(await challengesOf(app, project), [{ id, status: 'open', amount_cents: 60, emails: 200 }])
  assert.deepEqual(await database.many`select 1 from audit_log where project_id = ${project.id} and operation = 'first.send'`, [])
  assert.deepEqual(await project.events(), [])
})

test('the price is three tenths of a cent for each, rounded up, and at least fifty cents', async () => {
  for (const [count, amount] of [
    [1, 50],
    [166, 50],
    [167, 51],
    [10_000, 3000],
    [10_001, 3001],
  ] as const) {
    const { send } = await newSender()
    assert.equal((await send({ count })).body.error.payment.amount, amount, String(count))
  }
})

test('paid for, the same request goes through with a receipt; the challenge is used up', async () => {
  const { project, send, pay } = await newSender()
  const refusal = await send({ count: 3 })
  const credential = credentialFor(refusal, 'spt_good')
  const paid = await pay({ count: 3 }, credential)
  assert.deepEqual([paid.status, paid.body], [202, { count: 3 }])
  assert.equal(paid.headers.get('cache-control'), 'private')
  const receipt = Receipt.deserialize(paid.headers.get('payment-receipt') ?? '')
  assert.equal(receipt.method, 'stripe')
  assert.equal(receipt.externalId, challengeOf(refusal).request.externalId)
  const [challenge] = await database.many<{ status: string; reference: string }>`
    select status, reference from payment_challenges where project_id = ${project.id}`
  assert.deepEqual(challenge, { status: 'paid', reference: receipt.reference })
  assert.deepEqual(await usageOf(app, project), { used: 103, overage: 0, paid: 3 })

  const again = await pay({ count: 3 }, credential)
  assert.deepEqual([again.status, again.body.type], [402, problem('invalid-challenge')])
  assert.notEqual(challengeOf(again).id, challengeOf(refusal).id)
  assert.deepEqual(await usageOf(app, project), { used: 103, overage: 0, paid: 3 })
})

test('the client of mppx pays by itself', async () => {
  const { project } = await newSender()
  const asked: unknown[] = []
  const client = Mppx.create({
    polyfill: false,
    methods: [
      stripe.charge({
        paymentMethod: 'pm_card_visa',
        createToken: async ({ amount, currency, networkId }) => {
          asked.push({ amount, currency, networkId })
          return 'spt_from_a_wallet'
        },
      }),
    ],
  })
  const response = await client.fetch(`${url}/v1/first/a/send`, {
    method: 'POST',
    headers: { authorization: `Bearer ${project.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ count: 7 }),
  })
  assert.deepEqual([response.status, await response.json()], [202, { count: 7 }])
  assert.equal(Receipt.fromResponse(response).status, 'success')
  assert.deepEqual(asked, [{ amount: '50', currency: 'usd', networkId: 'profile_sandbox' }])
  assert.deepEqual(await usageOf(app, project), { used: 107, overage: 0, paid: 7 })
})

test('a credential in Authorization stands for the key that was asked to pay: once, for this request, while the key is good', async () => {
  const { project, send } = await newSender()
  const other = await newSender()
  const nobody = speaking(url, null)
  const asPayer = (path: string, body: object, credential: string) =>
    nobody.request('POST', path, { body: JSON.stringify(body), headers: { 'content-type': 'application/json', authorization: credential } })

  const credential = credentialFor(await send({ count: 2 }), 'spt_good')
  assert.equal((await asPayer('/second/a/send', { count: 2 }, credential)).status, 401)
  assert.deepEqual(
    [await asPayer('/first/b/send', { count: 2 }, credential), await asPayer('/first/a/send', { count: 3 }, credential)].map(
      ({ status, body }) => [status, body.type],
    ),
    [
      [402, problem('invalid-challenge')],
      [402, problem('invalid-challenge')],
    ],
  )
  const paid = await asPayer('/first/a/send', { count: 2 }, credential)
  assert.equal(paid.status, 202)
  assert.ok(paid.headers.get('payment-receipt'))
  assert.deepEqual(await usageOf(app, project), { used: 102, overage: 0, paid: 2 })

  // With room again, a spent credential must not pass for a key.
  await database.run`update projects set plan = 'light' where id = ${project.id}`
  assert.equal((await asPayer('/first/a/send', { count: 2 }, credential)).status, 402)
  assert.deepEqual(await usageOf(app, project), { used: 102, overage: 0, paid: 2 })

  const late = credentialFor(await other.send({ count: 1 }), 'spt_good')
  await database.run`delete from api_keys where project_id = ${other.project.id}`
  assert.equal((await asPayer('/first/a/send', { count: 1 }, late)).status, 401)
  for (const rubbish of ['Payment e30', 'Payment !!', 'Payment', `${late}x`])
    assert.equal((await asPayer('/first/a/send', { count: 1 }, rubbish)).status, 401, rubbish)
})

test('with room again nothing is charged, and the challenge is used up all the same', async () => {
  const { project, send, pay } = await newSender()
  const credential = credentialFor(await send({ count: 5 }), 'spt_good')
  await database.run`update projects set plan = 'light' where id = ${project.id}`
  const free = await pay({ count: 5 }, credential)
  assert.deepEqual([free.status, free.headers.get('payment-receipt')], [202, null])
  assert.deepEqual(await usageOf(app, project), { used: 105, overage: 0, paid: 0 })
  assert.deepEqual(
    (await challengesOf(app, project)).map(({ status }) => status),
    ['closed'],
  )
})

test('when more is due by now, it asks for more; when the price is still the same, it is enough', async () => {
  const { project, send, pay } = await newSender(0)
  await useUp(app, project, 90)
  const cheap = credentialFor(await send({ count: 300 }), 'spt_good')
  await useUp(app, project, 10)
  const refusal = await pay({ count: 300 }, cheap)
  assert.deepEqual([refusal.status, refusal.body.type], [402, problem('payment-insufficient')])
  assert.equal(refusal.body.error.payment.amount, 90)
  assert.equal((await pay({ count: 300 }, credentialFor(refusal, 'spt_good'))).status, 202)
  assert.deepEqual(await usageOf(app, project), { used: 400, overage: 0, paid: 300 })

  const small = await newSender(90)
  const enough = credentialFor(await small.send({ count: 20 }), 'spt_good')
  await useUp(app, small.project, 10)
  assert.equal((await small.pay({ count: 20 }, enough)).status, 202)
  assert.deepEqual(await usageOf(app, small.project), { used: 120, overage: 0, paid: 20 })
})

test('a send that fails before it is paid for is not charged; one that fails after it keeps what was paid', async () => {
  const { project, send, pay } = await newSender()
  const credential = credentialFor(await send({ count: 4 }), 'spt_good')
  const trouble = () => {
    throw new Error('trouble')
  }
  troubles.push(trouble)
  assert.equal((await pay({ count: 4 }, credential)).status, 500)
  assert.deepEqual(
    (await challengesOf(app, project)).map(({ status }) => status),
    ['open'],
  )
  troubles.push(() => {}, trouble)
  assert.equal((await pay({ count: 4 }, credential)).status, 500)
  assert.deepEqual(
    (await challengesOf(app, project)).map(({ status }) => status),
    ['paid'],
  )
  assert.deepEqual(await usageOf(app, project), { used: 100, overage: 0, paid: 4 })
  assert.equal((await send({ count: 4 })).status, 202)
  assert.deepEqual(await usageOf(app, project), { used: 104, overage: 0, paid: 4 })
  assert.equal((await send({ count: 1 })).status, 402)
})

test('what others took between the charge and the booking is asked for anew, and what was paid stays', async () => {
  const { project, send, pay } = await newSender(0)
  const refusal = await send({ count: 300 })
  troubles.push(
    () => {},
    () => useUp(app, project, 100),
  )
  const short = await pay({ count: 300 }, credentialFor(refusal, 'spt_good'))
  assert.deepEqual([short.status, short.body.type], [402, problem('payment-insufficient')])
  assert.match(short.body.detail, /What you paid stays yours: 200 more/)
  assert.deepEqual(await usageOf(app, project), { used: 100, overage: 0, paid: 200 })
  assert.equal(short.body.error.payment.emails, 100)
  assert.equal((await pay({ count: 300 }, credentialFor(short, 'spt_good'))).status, 202)
  assert.deepEqual(await usageOf(app, project), { used: 400, overage: 0, paid: 300 })
})

test('the cap on overage is another reason, with the same way out', async () => {
  const { project, send, sendAndPay } = await newSender()
  await database.run`update projects set overage_enabled = true, overage_cap_mills = 30 where id = ${project.id}`
  assert.equal((await send({ count: 10 })).status, 202)
  const { status, body } = await send({ count: 1 })
  assert.deepEqual([status, body.error.code], [402, 'spending_cap_reached'])
  assert.equal((await sendAndPay({ count: 1 })).status, 202)
  assert.deepEqual(await usageOf(app, project), { used: 111, overage: 10, paid: 1 })
})

test('where nothing is sold, 402 says whom to ask and offers nothing', async () => {
  const off = await startApp({ PAYMENTS: 'off', ROLES: 'http' }, { connection: app.connection, clock })
  const { project, send } = await newSender()
  const credential = credentialFor(await send({ count: 1 }), 'spt_good')
  const poorUrl = await startPayable(off)
  const poor = sender(poorUrl, project)
  for (const refusal of [await poor.send({ count: 1 }), await poor.pay({ count: 1 }, credential)]) {
    assert.equal(refusal.status, 402)
    assert.equal(refusal.headers.get('www-authenticate'), null)
    assert.deepEqual(Object.keys(refusal.body), ['error'])
    assert.equal(refusal.body.error.code, 'limit_exceeded')
    assert.match(refusal.body.error.message, /Ask the operator/)
  }
  await project.setPlan('light')
  const asPayer = { body: JSON.stringify({ count: 1 }), headers: { 'content-type': 'application/json', authorization: credential } }
  assert.equal((await speaking(poorUrl, null).request('POST', '/first/a/send', asPayer)).status, 401)
  assert.deepEqual(await usageOf(app, project), { used: 100, overage: 0, paid: 0 })
})

test('two challenges of one moment differ', async () => {
  const { send } = await newSender()
  const refusals = await Promise.all(Array.from({ length: 20 }, () => send({ count: 1 })))
  assert.equal(new Set(refusals.map((refusal) => challengeOf(refusal).id)).size, 20)
  for (const { headers } of refusals) assert.ok(Challenge.fromHeaders(headers))
})

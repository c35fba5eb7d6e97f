import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Receipt } from 'mppx'
import { challengeOf, challengesOf, credentialFor, sender, startPayable, usageOf, useUp } from '../../../tests/support/payable.ts'
import { createTestClock, startApp } from '../../../tests/support/posthaste.ts'
import { startStripePeer } from '../../../tests/support/stripe-peer.ts'
import { settlePayments } from './index.ts'

const peer = await startStripePeer()
const clock = createTestClock()
const settings = { PAYMENTS: 'stripe', STRIPE_SECRET_KEY: 'sk_test_secret', STRIPE_PROFILE: 'profile_ours', STRIPE_API_URL: peer.url }
const app = await startApp(settings, { clock })
const troubles: (() => void)[] = []
const url = await startPayable(app, async () => troubles.shift()?.())
/** A second process on the same database. */
const other = await startApp(
  { ...settings, ROLES: 'http', STRIPE_TOKEN_PARAMETER: 'payment_method_data[shared_payment_granted_token]' },
  { connection: app.connection, clock },
)
const otherUrl = await startPayable(other)

const intents = '/v1/payment_intents'
const problem = (name: string) => `https://paymentauth.org/problems/${name}`

async function newSender() {
  const project = await app.newProject()
  await useUp(app, project)
  const seen = { charges: peer.charges.length, requests: peer.requests.length }
  return {
    project,
    ...sender(url, project),
    charged: () => peer.charges.slice(seen.charges).map(({ amount }) => amount),
    asked: () => peer.requests.slice(seen.requests),
  }
}

test('Stripe is asked once, with everything that it needs, and its payment is the receipt’s reference', async () => {
  const { project, send, pay, charged, asked } = await newSender()
  const refusal = await send({ count: 1000 })
  const challenge = challengeOf(refusal)
  assert.deepEqual(challenge.request.methodDetails, { networkId: 'profile_ours', paymentMethodTypes: ['card', 'link'] })
  assert.deepEqual(asked(), [])
  const paid = await pay({ count: 1000 }, credentialFor(refusal, 'spt_123'))
  assert.equal(paid.status, 202)
  assert.equal(Receipt.deserialize(paid.headers.get('payment-receipt') ?? '').reference, peer.charges.at(-1)?.id)
  assert.deepEqual(charged(), [300])
  const [request] = asked()
  assert.deepEqual(request?.form, {
    amount: '300',
    currency: 'usd',
    confirm: 'true',
    'automatic_payment_methods[enabled]': 'true',
    'automatic_payment_methods[allow_redirects]': 'never',
    shared_payment_granted_token: 'spt_123',
    'metadata[project_id]': project.id,
    'metadata[challenge_id]': challenge.id,
    'metadata[external_id]': challenge.request.externalId,
    'metadata[emails]': '1000',
  })
  assert.equal(request?.key, `mpp_${challenge.id}_spt_123`)
  assert.equal(request?.headers.authorization, 'Bearer sk_test_secret')
  assert.match(String(request?.headers['stripe-version']), /^\d{4}-\d\d-\d\d\.preview$/)
})

test('where Stripe wants the token elsewhere, a setting says so', async () => {
  const { project, asked } = await newSender()
  assert.equal((await sender(otherUrl, project).sendAndPay({ count: 1 }, 'spt_9')).status, 202)
  assert.equal(asked()[0]?.form['payment_method_data[shared_payment_granted_token]'], 'spt_9')
})

test('a declined card, or one that wants approval, sends nothing', async () => {
  for (const [turn, name] of [
    ['decline', 'verification-failed'],
    ['requires_action', 'payment-action-required'],
  ] as const) {
    const { project, send, pay, sendAndPay, charged } = await newSender()
    peer.next(intents, turn)
    const refusal = await sendAndPay({ count: 1 })
    assert.deepEqual([refusal.status, refusal.body.type], [402, problem(name)])
    assert.deepEqual(charged(), [])
    assert.deepEqual(await usageOf(app, project), { used: 100, overage: 0, paid: 0 })
    assert.equal((await pay({ count: 1 }, credentialFor(refusal, 'spt_better'))).status, 202)
    assert.deepEqual(charged(), [50])
    assert.equal((await send({ count: 1 })).status, 402)
  }
})

test('charged and the answer lost: the same credential finds the payment, and it is charged once', async () => {
  for (const turn of ['drop', 'lose'] as const) {
    const { project, send, pay, charged } = await newSender()
    const credential = credentialFor(await send({ count: 2 }), 'spt_1')
    peer.next(intents, turn)
    const lost = await pay({ count: 2 }, credential)
    assert.deepEqual([lost.status, lost.body.error.code, lost.body.type], [502, 'provider_error', problem('internal-payment-error')], turn)
    assert.deepEqual(await usageOf(app, project), { used: 100, overage: 0, paid: 0 })
    const found = await pay({ count: 2 }, credential)
    assert.equal(found.status, 202, turn)
    assert.deepEqual(charged(), [50])
    assert.deepEqual(await usageOf(app, project), { used: 102, overage: 0, paid: 2 })
    assert.equal((await pay({ count: 2 }, credential)).status, 402)
    assert.deepEqual(charged(), [50])
  }
})

test('after a charge whose answer was lost, room that has appeared does not swallow the payment', async () => {
  const { project, send, pay, charged } = await newSender()
  const credential = credentialFor(await send({ count: 2 }), 'spt_1')
  peer.next(intents, 'drop')
  assert.equal((await pay({ count: 2 }, credential)).status, 502)
  await project.setPlan('light')
  const found = await pay({ count: 2 }, credential)
  assert.equal(found.status, 202)
  assert.ok(found.headers.get('payment-receipt'))
  assert.deepEqual(charged(), [50])
  assert.deepEqual(await usageOf(app, project), { used: 102, overage: 0, paid: 2 })
})

test('Stripe’s own failures, and a key of ours that it refuses, say nothing about the card', async () => {
  for (const turn of ['fail', 'unauthorized'] as const) {
    const { project, send, pay, sendAndPay, charged } = await newSender()
    const credential = credentialFor(await send({ count: 1 }), 'spt_1')
    peer.next(intents, turn)
    assert.equal((await pay({ count: 1 }, credential)).status, 502)
    assert.deepEqual(charged(), [])
    assert.deepEqual(
      (await challengesOf(app, project)).map(({ status }) => status),
      ['charging'],
    )
    assert.equal((await sendAndPay({ count: 1 }, 'spt_2')).status, 202)
    assert.deepEqual(charged(), [50])
  }
})

test('one challenge redeemed at once on two nodes: one charge, one booking', async () => {
  const { project, send, pay, charged } = await newSender()
  const credential = credentialFor(await send({ count: 1 }), 'spt_1')
  const answers = await Promise.all(Array.from({ length: 10 }, () => pay({ count: 1 }, credential)))
  assert.equal(answers.filter(({ status }) => status === 202).length, 1, JSON.stringify(answers.map(({ status }) => status)))
  assert.deepEqual(charged(), [50])
  assert.deepEqual(await usageOf(app, project), { used: 101, overage: 0, paid: 1 })
})

test('a crash between charge and booking: the same credential goes on where it stopped', async () => {
  const { project, send, pay, charged } = await newSender()
  const refusal = await send({ count: 1 })
  const credential = credentialFor(refusal, 'spt_1')
  assert.equal((await pay({ count: 1 }, credential)).status, 202)
  // As a process that died just before its last commit leaves it.
  await app.services.database.transaction(async (tx) => {
    await tx.run`update payment_challenges set status = 'charging', reference = null, consumed_at = null where project_id = ${project.id}`
    await tx.run`update usage_periods set used = 100, paid = 0, paid_used = 0 where project_id = ${project.id}`
    await tx.run`delete from usage_reservations where project_id = ${project.id}`
  })
  clock.advance(60 * 60_000)
  assert.equal((await pay({ count: 1 }, credential)).status, 202)
  assert.deepEqual(charged(), [50])
  assert.deepEqual(await usageOf(app, project), { used: 101, overage: 0, paid: 1 })
})

test('a send that fails after it was charged keeps the payment for the next', async () => {
  const { project, send, sendAndPay, charged } = await newSender()
  troubles.push(
    () => {},
    () => {},
    () => {
      throw new Error('trouble')
    },
  )
  assert.equal((await sendAndPay({ count: 3 })).status, 500)
  assert.deepEqual(charged(), [50])
  assert.equal((await send({ count: 3 })).status, 202)
  assert.deepEqual(charged(), [50])
  assert.deepEqual(await usageOf(app, project), { used: 103, overage: 0, paid: 3 })
})

test('a payment that takes its time is looked at again, and counts when it is through', async () => {
  const { project, send, pay, charged } = await newSender()
  const credential = credentialFor(await send({ count: 1 }), 'spt_1')
  peer.next(intents, 'processing')
  peer.next(`${intents}/`, 'processing')
  assert.equal((await pay({ count: 1 }, credential)).status, 502)
  assert.deepEqual(charged(), [])
  assert.equal((await pay({ count: 1 }, credential)).status, 202)
  assert.deepEqual(charged(), [50])
  assert.deepEqual(await usageOf(app, project), { used: 101, overage: 0, paid: 1 })
})

test('who paid and never came back finds the e-mails in the plan; who did not pay does not', async () => {
  const [paid, unpaid] = [await newSender(), await newSender()]
  peer.next(intents, 'drop', 'lose')
  assert.equal((await paid.sendAndPay({ count: 5 })).status, 502)
  assert.equal((await unpaid.sendAndPay({ count: 5 })).status, 502)
  const states = async () =>
    (await Promise.all([paid, unpaid].map(({ project }) => challengesOf(app, project)))).map(([one]) => one?.status)
  await settlePayments.run(app.services, {})
  assert.deepEqual(await states(), ['charging', 'charging'])
  clock.advance(2 * 3_600_000)
  await settlePayments.run(app.services, {})
  await settlePayments.run(app.services, {})
  assert.deepEqual(await states(), ['paid', 'charging'])
  clock.advance(23 * 3_600_000)
  await settlePayments.run(app.services, {})
  assert.deepEqual(await states(), ['paid', 'closed'])
  const credits = await app.services.database.many<{ paid: number }>`
    select paid from usage_periods where project_id in (${paid.project.id}, ${unpaid.project.id}) and paid > 0`
  assert.deepEqual(credits, [{ paid: 5 }])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestClock, startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { renewSubscriptions } from './index.ts'

const clock = createTestClock()
const app = await startApp({}, { clock })
const { database } = app.services
const day = 24 * 3_600_000

async function newProject(): Promise<TestProject> {
  const project = await app.newProject()
  await project.setPlan('free')
  return project
}
const visa = { plan: 'light', payment_method_id: 'pm_card_visa' }
const subscribe = (project: TestProject, body: object = visa) => project.post('/billing/subscribe', body)
const planOf = async (project: TestProject) => (await project.get('/usage')).body.plan
const audits = async (project: TestProject) =>
  (await database.many<{ operation: string }>`select operation from audit_log where project_id = ${project.id} order by at`).map(
    ({ operation }) => operation,
  )

test('a subscription changes the plan at once', async () => {
  const project = await newProject()
  const { status, body } = await subscribe(project)
  assert.equal(status, 201)
  assert.match(body.subscription_id, /^sub_sandbox_/)
  assert.deepEqual(
    { ...body, subscription_id: '', current_period_end: '' },
    { subscription_id: '', plan: 'light', status: 'active', current_period_end: '' },
  )
  const usage = (await project.get('/usage')).body
  assert.deepEqual([usage.plan, usage.emails_included, usage.emails_remaining], ['light', 2000, 2000])
  const billing = await project.get('/billing')
  assert.equal(billing.status, 200)
  assert.deepEqual(billing.body, {
    plan: 'light',
    subscription: { ...body, cancel_at_period_end: false },
    plans: [
      { name: 'light', emails: 2000, price_cents: null },
      { name: 'plus', emails: 10_000, price_cents: null },
      { name: 'max', emails: 30_000, price_cents: null },
    ],
  })
  assert.deepEqual(await audits(project), ['billing.subscribe'])
  assert.deepEqual(await project.events(), [])
})

test('the same plan twice is 409', async () => {
  const project = await newProject()
  await subscribe(project)
  const { status, body } = await subscribe(project)
  assert.deepEqual([status, body.error.code], [409, 'already_subscribed'])
  assert.match(body.error.message, /"light"/)
  assert.deepEqual(await project.events(), [])
})

test('ten at once make one subscription', async () => {
  const project = await newProject()
  const answers = await Promise.all(Array.from({ length: 10 }, () => subscribe(project)))
  assert.equal(answers.filter(({ status }) => status === 201).length, 1)
  assert.ok(answers.every(({ status }) => [201, 409].includes(status)))
  assert.equal(await planOf(project), 'light')
})

test('another plan goes on from the one there is', async () => {
  const project = await newProject()
  const { body: light } = await subscribe(project)
  const { status, body: plus } = await subscribe(project, { ...visa, plan: 'plus' })
  assert.equal(status, 201)
  assert.deepEqual(plus, { ...light, plan: 'plus' })
  assert.equal(await planOf(project), 'plus')
})

test('a plan that is not for sale, and a card that is none or is declined, are refused by name and change nothing', async () => {
  const project = await newProject()
  for (const [change, message] of [
    [{ plan: 'free' }, /^plan: is not for sale\. These are: light, plus, max/],
    [{ plan: 'anonymous' }, /^plan: is not for sale/],
    [{ plan: 'unlimited' }, /^plan: is not for sale/],
    [{ plan: 'gold' }, /^plan: is not for sale/],
    [{ plan: '__proto__' }, /^plan: is not for sale/],
    [{ payment_method_id: 'tok_visa' }, /^payment_method_id: must be/],
    [{ payment_method_id: 'pm_1/../../customers' }, /^payment_method_id: must be/],
    [{ payment_method_id: 'pm_card_chargeDeclined' }, /^payment_method_id: was declined .*card_declined/],
    [{ payment_method_id: 'pm_card_chargeDeclinedInsufficientFunds' }, /^payment_method_id: was declined/],
  ] as const) {
    const { status, body } = await subscribe(project, { ...visa, ...change })
    assert.deepEqual([status, body.error.code], [422, 'validation_error'])
    assert.match(body.error.message, message)
  }
  assert.equal(await planOf(project), 'free')
  assert.deepEqual(await audits(project), [])
  assert.deepEqual(await project.events(), [])
  assert.equal((await subscribe(project)).status, 201)
})

test('who has no limit needs no plan', async () => {
  const { status, body } = await subscribe(await app.newProject())
  assert.equal(status, 422)
  assert.match(body.error.message, /^plan: is not needed/)
})

test('cancelled, it runs until its end, can be taken back, and then falls to the free plan', async () => {
  const project = await newProject()
  const none = await project.delete('/billing/subscribe')
  assert.deepEqual([none.status, none.body.subscription], [200, null])
  await subscribe(project)
  const cancelled = await project.delete('/billing/subscribe')
  assert.deepEqual([cancelled.status, cancelled.body.subscription.cancel_at_period_end], [200, true])
  assert.deepEqual((await project.delete('/billing/subscribe')).body, cancelled.body)
  assert.equal(await planOf(project), 'light')
  assert.equal((await subscribe(project)).status, 201)
  assert.equal((await project.get('/billing')).body.subscription.cancel_at_period_end, false)

  await project.delete('/billing/subscribe')
  await project.post('/settings/overage', { overage_enabled: true })
  await renewSubscriptions.run(app.services, {})
  assert.equal(await planOf(project), 'light')
  clock.advance(32 * day)
  await renewSubscriptions.run(app.services, {})
  const { body } = await project.get('/billing')
  assert.deepEqual([body.plan, body.subscription], ['free', null])
  const lapsed = await database.many`
    select target->>'plan' as plan, user_id, request_id from audit_log where project_id = ${project.id} and operation = 'billing.lapse'`
  assert.deepEqual(lapsed, [{ plan: 'free', user_id: null, request_id: 'billing.renew' }])
  assert.equal((await project.get('/settings/overage')).body.overage_enabled, false)
  assert.equal((await subscribe(project)).status, 201)
  assert.deepEqual(await project.events(), [])
})

test('not cancelled, it renews itself month after month', async () => {
  const project = await newProject()
  const { body: first } = await subscribe(project)
  clock.advance(100 * day)
  await renewSubscriptions.run(app.services, {})
  const { body } = await project.get('/billing')
  assert.equal(body.plan, 'light')
  assert.ok(new Date(body.subscription.current_period_end) > clock.now())
  assert.equal(body.subscription.subscription_id, first.subscription_id)
})

test('a plan that the operator gave is not taken away by a subscription that ends', async () => {
  const project = await newProject()
  await subscribe(project)
  await project.delete('/billing/subscribe')
  await project.setPlan('max')
  clock.advance(32 * day)
  await renewSubscriptions.run(app.services, {})
  assert.equal(await planOf(project), 'max')
})

test('where nothing is sold, it says whom to ask', async () => {
  const off = await startApp({ PAYMENTS: 'off' })
  const project = await off.newProject()
  await project.setPlan('free')
  const { status, body } = await subscribe(project)
  assert.equal(status, 422)
  assert.match(body.error.message, /^plan: cannot be bought here.* Ask its operator/)
  assert.deepEqual((await project.get('/billing')).body, { plan: 'free', subscription: null, plans: [] })
  assert.equal((await project.delete('/billing/subscribe')).status, 200)
  const overage = await project.post('/settings/overage', { overage_enabled: true })
  assert.equal(overage.status, 422)
  assert.match(overage.body.error.message, /^overage_enabled: is not possible/)
  await renewSubscriptions.run(off.services, {})
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useUp } from '../../../tests/support/payable.ts'
import { createTestClock, startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { startStripePeer } from '../../../tests/support/stripe-peer.ts'
import { billOverage, renewSubscriptions } from './index.ts'

const peer = await startStripePeer()
const clock = createTestClock()
const app = await startApp(
  {
    ...{ PAYMENTS: 'stripe', STRIPE_SECRET_KEY: 'sk_test_secret', STRIPE_PROFILE: 'profile_ours', STRIPE_API_URL: peer.url },
    PLANS:
      '{"anonymous":10,"free":100,"gift":500,"light":{"emails":2000,"stripe_price":"price_light","price_cents":900},"plus":{"emails":10000,"stripe_price":"price_plus"}}',
  },
  { clock },
)

async function newProject() {
  const project = await app.newProject()
  await project.setPlan('free')
  const seen = peer.requests.length
  const asked = () => peer.requests.slice(seen).map(({ method, path }) => `${method} ${path.replace(/_\d+/g, '_N')}`)
  return { project, asked, seen }
}
const subscribe = (project: TestProject, plan = 'light', payment_method_id = 'pm_card_visa') =>
  project.post('/billing/subscribe', { plan, payment_method_id })
const planOf = async (project: TestProject) => (await project.get('/billing')).body.plan

test('a customer with a card, and a subscription to the plan’s price', async () => {
  const { project, asked, seen } = await newProject()
  const { status, body } = await subscribe(project)
  assert.equal(status, 201)
  assert.deepEqual(
    { ...body, subscription_id: '' },
    { subscription_id: '', plan: 'light', status: 'active', current_period_end: '2033-05-18T03:33:20.000Z' },
  )
  assert.deepEqual(asked(), ['POST /v1/customers', 'POST /v1/subscriptions'])
  const [customer, subscription] = peer.requests.slice(seen)
  assert.deepEqual(customer?.form, {
    'invoice_settings[default_payment_method]': 'pm_card_visa',
    payment_method: 'pm_card_visa',
    'metadata[project_id]': project.id,
    email: project.email,
  })
  assert.equal(subscription?.form['items[0][price]'], 'price_light')
  assert.equal(subscription?.form.payment_behavior, 'error_if_incomplete')
  assert.ok(customer?.key && subscription?.key && customer.key !== subscription.key)
  assert.deepEqual((await project.get('/billing')).body.plans, [
    { name: 'light', emails: 2000, price_cents: 900 },
    { name: 'plus', emails: 10_000, price_cents: null },
  ])
  assert.equal((await subscribe(project, 'gift')).status, 422)
})

test('another plan moves the same subscription, with the new card', async () => {
  const { project, asked } = await newProject()
  const { body: light } = await subscribe(project)
  const { status, body: plus } = await subscribe(project, 'plus', 'pm_card_mastercard')
  assert.deepEqual([status, plus.subscription_id, plus.plan], [201, light.subscription_id, 'plus'])
  assert.deepEqual(asked().slice(2), [
    'POST /v1/payment_methods/pm_card_mastercard/attach',
    'POST /v1/customers/cus_N',
    'GET /v1/subscriptions/sub_N',
    'POST /v1/subscriptions/sub_N',
  ])
  const moved = peer.requests.at(-1)?.form
  assert.match(moved?.['items[0][id]'] ?? '', /^si_/)
  assert.deepEqual([moved?.['items[0][price]'], moved?.default_payment_method], ['price_plus', 'pm_card_mastercard'])
})

test('a declined card changes nothing, wherever it is declined, and another one works', async () => {
  for (const path of ['/v1/customers', '/v1/subscriptions']) {
    const { project } = await newProject()
    peer.next(path, 'decline')
    const { status, body } = await subscribe(project)
    assert.equal(status, 422)
    assert.match(body.error.message, /^payment_method_id: was declined by the card processor \(card_declined\)/)
    assert.equal(await planOf(project), 'free')
    assert.equal((await subscribe(project, 'light', 'pm_card_mastercard')).status, 201)
    assert.equal(await planOf(project), 'light')
  }
})

test('an answer that is lost: asked again, there is one customer and one subscription', async () => {
  for (const [path, turn] of [
    ['/v1/customers', 'drop'],
    ['/v1/subscriptions', 'drop'],
    ['/v1/subscriptions', 'lose'],
  ] as const) {
    const { project } = await newProject()
    const before = peer.subscriptions.size
    peer.next(path, turn)
    const lost = await subscribe(project)
    assert.deepEqual([lost.status, lost.body.error.code], [502, 'provider_error'])
    assert.equal(await planOf(project), 'free')
    assert.equal((await subscribe(project)).status, 201)
    assert.equal(peer.subscriptions.size, before + 1, `${path} ${turn}`)
    assert.equal(await planOf(project), 'light')
  }
})

test('cancelled here, or ended at Stripe: the plan follows', async () => {
  const [cancelled, ended, late, unclear] = [await newProject(), await newProject(), await newProject(), await newProject()]
  const idOf = async ({ project }: { project: TestProject }) => (await subscribe(project)).body.subscription_id as string
  const [first, second, third] = [await idOf(cancelled), await idOf(ended), await idOf(late)]
  const fourth = await idOf(unclear)
  peer.next(`/v1/subscriptions/${first}`, 'lose')
  assert.equal((await cancelled.project.delete('/billing/subscribe')).status, 502)
  const { status, body } = await cancelled.project.delete('/billing/subscribe')
  assert.deepEqual([status, body.subscription.cancel_at_period_end], [200, true])
  assert.equal(peer.subscriptions.get(first)?.cancel_at_period_end, true)

  peer.subscriptions.set(second, { ...peer.subscriptions.get(second), status: 'unpaid' })
  peer.subscriptions.set(third, { ...peer.subscriptions.get(third), status: 'past_due' })
  peer.next(`/v1/subscriptions/${fourth}`, 'fail')
  await renewSubscriptions.run(app.services, {})
  assert.deepEqual(await Promise.all([cancelled, ended, late, unclear].map(({ project }) => planOf(project))), [
    'light',
    'free',
    'light',
    'light',
  ])
  assert.equal((await late.project.get('/billing')).body.subscription.status, 'past_due')
  peer.subscriptions.delete(first)
  await renewSubscriptions.run(app.services, {})
  assert.equal(await planOf(cancelled.project), 'free')
})

test('the subscription of a deleted project is ended', async () => {
  const { project } = await newProject()
  const { body } = await subscribe(project)
  await app.services.database.run`update projects set deleted_at = ${clock.now()} where id = ${project.id}`
  await renewSubscriptions.run(app.services, {})
  assert.equal(peer.subscriptions.get(body.subscription_id)?.status, 'canceled')
})

test('overage needs a card, and is billed by invoice: once, however often it is tried', async () => {
  const { project } = await newProject()
  const refused = await project.post('/settings/overage', { overage_enabled: true })
  assert.equal(refused.status, 422)
  assert.match(refused.body.error.message, /^overage_enabled: needs a card/)
  await subscribe(project)
  assert.equal((await project.post('/settings/overage', { overage_enabled: true })).status, 200)
  await useUp(app, project, 1100)
  await app.services.database.run`update usage_periods set overage = 1000 where project_id = ${project.id}`
  const seen = peer.requests.length
  clock.advance(34 * 24 * 3_600_000)
  peer.next('/v1/invoices', 'drop')
  for (let day = 0; day < 3; day++) await billOverage.run(app.services, {})
  const asked = peer.requests.slice(seen)
  assert.deepEqual(
    asked.map(({ path }) => path),
    ['/v1/invoiceitems', '/v1/invoices', '/v1/invoiceitems', '/v1/invoices'],
  )
  assert.equal(new Set(asked.map(({ key }) => key)).size, 2)
  assert.equal(asked[0]?.form.amount, '300')
  assert.match(asked[0]?.form.description ?? '', /^1000 e-mails over the plan in \d{4}-\d\d$/)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestClock, startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { startStripePeer } from '../../../tests/support/stripe-peer.ts'
import { newId } from '../../base/ids.ts'
import { reserveEmails } from '../usage/index.ts'
import { periodStart } from '../usage/usage.ts'
import { renewSubscriptions } from './index.ts'

const clock = createTestClock()
const peer = await startStripePeer(clock)
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
const useUpAll = ({ id }: TestProject) =>
  app.services.database.run`
    insert into usage_periods (project_id, period_start, used) values (${id}, ${periodStart(clock.now())}, 5000)`
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

test('an answer that is lost, and then another card or plan: one live subscription, with what was asked last', async () => {
  for (const [turn, plan, card, waitMs] of [
    ['drop', 'light', 'pm_card_mastercard', 0],
    ['drop', 'plus', 'pm_card_visa', 0],
    ['drop', 'plus', 'pm_card_mastercard', 25 * 3_600_000],
    ['drop', 'light', 'pm_card_visa', 25 * 3_600_000],
    ['lose', 'plus', 'pm_card_mastercard', 0],
  ] as const) {
    const { project, seen } = await newProject()
    peer.next('/v1/subscriptions', turn)
    assert.equal((await subscribe(project)).status, 502)
    clock.advance(waitMs)
    const { status, body } = await subscribe(project, plan, card)
    const about = `${turn}, then ${plan} with ${card} after ${waitMs} ms`
    assert.deepEqual([status, body.plan], [201, plan], about)
    const live = [...peer.subscriptions.values()].filter(({ metadata }) => (metadata as { project_id: string }).project_id === project.id)
    assert.deepEqual(
      live.map(({ id, status }) => [id, status]),
      [[body.subscription_id, 'active']],
      about,
    )
    const last = peer.requests.slice(seen).findLast(({ method, path }) => method === 'POST' && path.startsWith('/v1/subscriptions'))
    assert.deepEqual([last?.form['items[0][price]'], last?.form.default_payment_method], [`price_${plan}`, card], about)
    assert.deepEqual(
      [await planOf(project), (await project.get('/billing')).body.subscription.subscription_id],
      [plan, body.subscription_id],
    )
  }
})

test('a decline that nobody heard of is over with another card', async () => {
  const { project } = await newProject()
  peer.next('/v1/subscriptions', 'decline and drop')
  assert.equal((await subscribe(project)).status, 502)
  assert.equal((await subscribe(project, 'light', 'pm_card_mastercard')).status, 201)
  assert.equal(await planOf(project), 'light')
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

const wantOverage = (project: TestProject) => project.post('/settings/overage', { overage_enabled: true })
const refusesOverage = async (project: TestProject) => {
  const { status, body } = await wantOverage(project)
  assert.equal(status, 422)
  assert.match(body.error.message, /^overage_enabled: needs a subscription/)
  assert.equal((await project.get('/settings/overage')).body.overage_enabled, false)
}

test('overage needs a subscription: a customer whose card was declined is none', async () => {
  const { project } = await newProject()
  await refusesOverage(project)
  peer.next('/v1/subscriptions', 'decline')
  assert.equal((await subscribe(project)).status, 422)
  await refusesOverage(project)
  assert.equal((await subscribe(project)).status, 201)
  assert.deepEqual((await wantOverage(project)).body, { overage_enabled: true, overage_cap: 50, overage_rate: 0.003 })
})

test('with the subscription overage ends, also on a plan that the operator gave, and at once for what is booked', async () => {
  for (const given of [null, 'gift']) {
    const { project } = await newProject()
    const { body } = await subscribe(project)
    await wantOverage(project)
    if (given) await project.setPlan(given)
    await useUpAll(project)
    const reserve = () =>
      app.services.database.transaction((tx) =>
        reserveEmails(app.services, tx, { project_id: project.id, mailbox_id: null, reservation_id: newId(), count: 1 }),
      )
    assert.equal((await reserve()).outcome, 'reserved')
    await app.services.database.run`update billing_accounts set status = 'canceled' where project_id = ${project.id}`
    assert.equal((await reserve()).outcome, 'limit_exceeded')
    assert.equal((await project.get('/usage')).body.overage.enabled, false)
    await app.services.database.run`update billing_accounts set status = 'active' where project_id = ${project.id}`
    peer.subscriptions.delete(body.subscription_id)
    await renewSubscriptions.run(app.services, {})
    await refusesOverage(project)
  }
})

import { createHash } from 'node:crypto'
import type { Services } from '../../operations/context.ts'
import { askStripe, type StripeAnswer } from '../payments/index.ts'
import { isLive, type Subscription } from './billing.ts'
import type { CardProcessor, Wish } from './card-processor.ts'
import { lookAtStripeInvoice, openStripeInvoice, sendStripeInvoice } from './stripe-invoice.ts'
import { findInList, type Listed } from './stripe-list.ts'

/** Subscriptions at Stripe: a customer for each project, with a subscription to the price of its plan. */
export const stripe: CardProcessor = {
  async enrol(services, wish) {
    const customer = await customerWithCard(services, wish)
    return customer.kind === 'done' ? { outcome: 'enrolled', customer_id: String(customer.body.id) } : refusalOf(customer)
  },
  async subscribe(services, wish, customer_id) {
    const made = await makeOrChange(services, wish, customer_id)
    if (made.kind !== 'done') return refusalOf(made)
    const subscription = subscriptionOf(made.body)
    if (!subscription || !isLive(subscription.status)) return { outcome: 'declined', reason: String(made.body.status) }
    return { outcome: 'subscribed', subscription }
  },
  async cancel(services, account) {
    const answer = await askStripe(services, {
      method: 'POST',
      path: `/v1/subscriptions/${account.subscription_id}`,
      form: { cancel_at_period_end: 'true' },
    })
    return answer.kind === 'done' ? subscriptionOf(answer.body) : null
  },
  async look(services, account) {
    const answer = await askStripe(services, { method: 'GET', path: `/v1/subscriptions/${account.subscription_id}` })
    if (answer.kind === 'refused' && answer.status === 404) return 'gone'
    const subscription = answer.kind === 'done' ? subscriptionOf(answer.body) : null
    return subscription && !isLive(subscription.status) ? 'gone' : subscription
  },
  async end(services, account) {
    const answer = await askStripe(services, { method: 'DELETE', path: `/v1/subscriptions/${account.subscription_id}` })
    return answer.kind === 'done' || (answer.kind === 'refused' && answer.status === 404)
  },
  openInvoice: openStripeInvoice,
  sendInvoice: sendStripeInvoice,
  lookAtInvoice: lookAtStripeInvoice,
}

/** The same attempt with the same wish is the same to Stripe; with another card it is another. */
const keyOf = ({ account, plan, payment_method_id }: Wish, step: string): string =>
  `${step}_${createHash('sha256').update(`${account.attempt} ${plan} ${payment_method_id}`).digest('hex').slice(0, 40)}`

async function customerWithCard(services: Services, wish: Wish): Promise<StripeAnswer> {
  const { account, payment_method_id, email } = wish
  const form = { 'invoice_settings[default_payment_method]': payment_method_id }
  if (account.customer_id === null) {
    const about = { payment_method: payment_method_id, 'metadata[project_id]': account.project_id, ...(email === null ? {} : { email }) }
    return askStripe(services, {
      method: 'POST',
      path: '/v1/customers',
      idempotencyKey: keyOf(wish, 'customer'),
      form: { ...form, ...about },
    })
  }
  const attached = await askStripe(services, {
    method: 'POST',
    path: `/v1/payment_methods/${payment_method_id}/attach`,
    idempotencyKey: keyOf(wish, 'attach'),
    form: { customer: account.customer_id },
  })
  if (attached.kind !== 'done') return attached
  const path = `/v1/customers/${account.customer_id}` as const
  return askStripe(services, { method: 'POST', path, form })
}

/** An earlier try of this attempt may have made one: it is found by the attempt's name, and changed to what is wished for now. */
async function makeOrChange(services: Services, wish: Wish, customer: string): Promise<StripeAnswer> {
  const { subscription_id, status, is_resumed } = wish.account
  if (subscription_id !== null && isLive(status)) return change(services, wish, subscription_id)
  if (is_resumed) {
    const found = await findMade(services, wish, customer)
    if (found.kind !== 'none') return found.kind === 'found' ? change(services, wish, found.id) : found
  }
  const { attempt } = wish.account
  const made = await make(services, wish, { customer, idempotencyKey: `subscribe_${attempt}` })
  // An earlier try of another wish has ended: since we looked, or without a subscription.
  if (made.kind !== 'refused' || made.code !== 'idempotency_error') return made
  const found = await findMade(services, wish, customer)
  if (found.kind === 'unknown' || found.kind === 'refused') return found
  if (found.kind === 'found') return change(services, wish, found.id)
  return make(services, wish, { customer, idempotencyKey: keyOf(wish, 'subscribe') })
}

/** Among the customer's own: the search at Stripe is minutes behind, this list is not. */
const findMade = (services: Services, { account }: Wish, customer: string): Promise<Listed> =>
  findInList(
    services,
    { path: '/v1/subscriptions', query: { customer, status: 'all' } },
    ({ metadata, status }) => metadata.attempt === account.attempt && isLive(status),
  )

const formOf = ({ account, plan, stripe_price, payment_method_id }: Wish) => ({
  'items[0][price]': stripe_price as string, // only plans with a price are for sale here
  default_payment_method: payment_method_id,
  // A card that does not pay makes no subscription.
  payment_behavior: 'error_if_incomplete',
  'metadata[project_id]': account.project_id,
  'metadata[attempt]': account.attempt,
  'metadata[plan]': plan,
})

const make = (services: Services, wish: Wish, { customer, idempotencyKey }: { customer: string; idempotencyKey: string }) =>
  askStripe(services, { method: 'POST', path: '/v1/subscriptions', idempotencyKey, form: { ...formOf(wish), customer } })

async function change(services: Services, wish: Wish, subscription_id: string): Promise<StripeAnswer> {
  const path = `/v1/subscriptions/${subscription_id}` as const
  const before = await askStripe(services, { method: 'GET', path })
  if (before.kind !== 'done') return before
  const moved = { 'items[0][id]': itemOf(before.body)?.id ?? '', proration_behavior: 'always_invoice', cancel_at_period_end: 'false' }
  // Under no key: said twice it is the same, and what was said in between must not come back.
  return askStripe(services, { method: 'POST', path, form: { ...formOf(wish), ...moved } })
}

const refusalOf = (answer: Exclude<StripeAnswer, { kind: 'done' }>) =>
  answer.kind === 'unknown' ? ({ outcome: 'unknown' } as const) : ({ outcome: 'declined', reason: answer.code } as const)

interface Item {
  id?: string
  current_period_end?: number
}
const itemOf = (body: Record<string, unknown>): Item | undefined => (body.items as { data?: Item[] } | undefined)?.data?.[0]

/** The end of the period has moved from the subscription to its items; either will do. */
function subscriptionOf(body: Record<string, unknown>): Subscription | null {
  const ends = body.current_period_end ?? itemOf(body)?.current_period_end
  if (typeof body.id !== 'string' || typeof body.status !== 'string' || typeof ends !== 'number') return null
  return {
    subscription_id: body.id,
    status: body.status,
    current_period_end: new Date(ends * 1000),
    cancel_at_period_end: body.cancel_at_period_end === true,
  }
}

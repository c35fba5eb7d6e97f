import { createHash } from 'node:crypto'
import type { Services } from '../../operations/context.ts'
import { askStripe, type StripeAnswer } from '../payments/index.ts'
import { isLive, type Subscription } from './billing.ts'
import type { CardProcessor, Wish, Wished } from './card-processor.ts'

/** Subscriptions at Stripe: a customer for each project, with a subscription to the price of its plan. */
export const stripe: CardProcessor = {
  async subscribe(services, wish) {
    const customer = await customerWithCard(services, wish)
    if (customer.kind !== 'done') return refusalOf(customer, wish.account.customer_id)
    const customer_id = String(customer.body.id)
    const made = await makeOrChange(services, wish, customer_id)
    if (made.kind !== 'done') return refusalOf(made, customer_id)
    const subscription = subscriptionOf(made.body)
    if (!subscription || !isLive(subscription.status)) return { outcome: 'declined', customer_id, reason: String(made.body.status) }
    return { outcome: 'subscribed', customer_id, subscription }
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
  async billOverage(services, { project_id, customer_id, month, emails, amount_cents }) {
    if (customer_id === null) return false
    const item = await askStripe(services, {
      method: 'POST',
      path: '/v1/invoiceitems',
      idempotencyKey: `overage_item_${project_id}_${month}`,
      form: {
        ...{ customer: customer_id, currency: 'usd', amount: String(amount_cents) },
        description: `${emails} e-mails over the plan in ${month}`,
      },
    })
    if (item.kind !== 'done') return false
    const invoice = await askStripe(services, {
      method: 'POST',
      path: '/v1/invoices',
      idempotencyKey: `overage_invoice_${project_id}_${month}`,
      form: { customer: customer_id, auto_advance: 'true', pending_invoice_items_behavior: 'include', 'metadata[project_id]': project_id },
    })
    return invoice.kind === 'done'
  },
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
  return askStripe(services, { method: 'POST', path, idempotencyKey: keyOf(wish, 'default'), form })
}

async function makeOrChange(services: Services, wish: Wish, customer: string): Promise<StripeAnswer> {
  const { account, stripe_price, payment_method_id } = wish
  const form = {
    'items[0][price]': stripe_price as string, // only plans with a price are for sale here
    default_payment_method: payment_method_id,
    // A card that does not pay makes no subscription.
    payment_behavior: 'error_if_incomplete',
    'metadata[project_id]': account.project_id,
  }
  if (account.subscription_id === null || !isLive(account.status))
    return askStripe(services, {
      method: 'POST',
      path: '/v1/subscriptions',
      idempotencyKey: keyOf(wish, 'subscribe'),
      form: { ...form, customer },
    })
  const path = `/v1/subscriptions/${account.subscription_id}` as const
  const before = await askStripe(services, { method: 'GET', path })
  if (before.kind !== 'done') return before
  const moved = { 'items[0][id]': itemOf(before.body)?.id ?? '', proration_behavior: 'always_invoice', cancel_at_period_end: 'false' }
  return askStripe(services, { method: 'POST', path, idempotencyKey: keyOf(wish, 'change'), form: { ...form, ...moved } })
}

function refusalOf(answer: Exclude<StripeAnswer, { kind: 'done' }>, customer_id: string | null): Wished {
  return answer.kind === 'unknown' ? { outcome: 'unknown' } : { outcome: 'declined', customer_id, reason: answer.code }
}

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

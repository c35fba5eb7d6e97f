import { ApiError, invalid } from '../../base/errors.ts'
import type { Context } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findUser } from '../identity/index.ts'
import { findTerms } from '../usage/index.ts'
import { isLive, NewSubscription, plansForSale, SubscriptionResult } from './billing.ts'
import { beginAttempt, endAttempt, findAccount, saveCustomer, savePlan, saveSubscription, suspendAttempt } from './billing-queries.ts'
import { type Attempt, type CardProcessor, cardProcessorOf, type Wish, type Wished } from './card-processor.ts'

export const subscribe = defineOperation({
  id: 'billing.subscribe',
  method: 'POST',
  path: '/billing/subscribe',
  scope: 'admin',
  summary: 'Subscribe to a plan, or move to another one',
  description:
    'The card is charged at once, and then every month. With a subscription to another plan, or one that was cancelled and has not run out, that one goes on with the new plan and card.',
  body: NewSubscription,
  result: SubscriptionResult,
  status: 201,
  errors: ['already_subscribed', 'conflict', 'provider_error'],

  async run(context, { body }) {
    const { database, clock, config, caller } = context
    const processor = cardProcessorOf(context)
    if (!processor) throw invalid('plan', 'cannot be bought here: this installation takes no payments. Ask its operator for a larger plan')
    const plan = plansForSale(config).find((one) => one.name === body.plan)
    if (!plan) throw invalid('plan', `is not for sale. ${forSale(plansForSale(config).map((one) => one.name))}`)
    const terms = await findTerms(database, caller.project_id)
    if (terms?.plan === 'unlimited') throw invalid('plan', 'is not needed: this project has no limit')
    const account = await beginAttempt(database, caller.project_id, { plan: plan.name, now: clock.now() })
    if (!account) throw await inTheWay(context)
    const email = (await findUser(database, caller.user_id))?.email ?? null
    const { payment_method_id } = body
    const wished = await wish(context, processor, { account, plan: plan.name, stripe_price: plan.stripe_price, email, payment_method_id })
    return settle(context, account, plan.name, wished)
  },
})

const forSale = (names: string[]): string => (names.length === 0 ? 'Nothing is' : `These are: ${names.join(', ')}`)

async function inTheWay({ database, caller }: Context): Promise<ApiError> {
  const account = await findAccount(database, caller.project_id)
  if (account && isLive(account.status) && !account.cancel_at_period_end)
    return new ApiError('already_subscribed', `This project is subscribed to the plan "${account.plan}" already.`)
  return new ApiError('conflict', 'Another request is subscribing this project just now. Try again in a moment.', {
    headers: { 'retry-after': '5' },
  })
}

async function wish(context: Context, processor: CardProcessor, wanted: Wish): Promise<Wished> {
  const customer = await processor.enrol(context, wanted)
  if (customer.outcome !== 'enrolled') return customer
  await saveCustomer(context.database, wanted.account, customer.customer_id)
  return processor.subscribe(context, wanted, customer.customer_id)
}

async function settle(context: Context, account: Attempt, plan: string, wished: Wished) {
  const { database, clock } = context
  const { project_id } = account
  if (wished.outcome === 'unknown') {
    await suspendAttempt(database, account, clock.now())
    throw new ApiError(
      'provider_error',
      'The card processor gave no clear answer. Send the same request again: it subscribes once, and is charged once.',
      { headers: { 'retry-after': '5' } },
    )
  }
  if (wished.outcome === 'declined') {
    await endAttempt(database, account)
    throw invalid('payment_method_id', `was declined by the card processor (${wished.reason}). Use another card`)
  }
  const { subscription } = wished
  await database.transaction(async (tx) => {
    await saveSubscription(tx, project_id, subscription)
    await savePlan(tx, project_id, plan)
    await endAttempt(tx, account)
  })
  return { ...subscription, plan }
}

import { ApiError } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { Billing, toSubscription } from './billing.ts'
import { findAccount, saveSubscription } from './billing-queries.ts'
import { cardProcessorOf } from './card-processor.ts'
import { showBilling } from './show-billing.ts'

export const cancelSubscription = defineOperation({
  id: 'billing.cancel',
  method: 'DELETE',
  path: '/billing/subscribe',
  scope: 'admin',
  summary: 'Let the subscription run out',
  description:
    'The plan stays until the end of the period that is paid for; then the project is on the free plan. Without a subscription nothing happens.',
  result: Billing,
  status: 200,
  errors: ['provider_error'],

  async run(context) {
    const { database, caller } = context
    const account = await findAccount(database, caller.project_id)
    const processor = cardProcessorOf(context)
    const subscription = toSubscription(account)
    if (!account || !processor || !subscription || subscription.cancel_at_period_end) return showBilling(context)
    const cancelled = await processor.cancel(context, account)
    if (!cancelled)
      throw new ApiError(
        'provider_error',
        'The card processor gave no clear answer, so the subscription may still be running. Try again in a moment.',
      )
    await database.transaction((tx) => saveSubscription(tx, account.project_id, cancelled))
    return showBilling(context)
  },
})

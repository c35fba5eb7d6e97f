import type { Operation } from '../../operations/define-operation.ts'
import { cancelSubscription } from './cancel-subscription.ts'
import { getBilling } from './get-billing.ts'
import { getOverage } from './get-overage.ts'
import { subscribe } from './subscribe.ts'
import { updateOverage } from './update-overage.ts'

export const billingOperations: Operation[] = [getBilling, subscribe, cancelSubscription, getOverage, updateOverage]

export { billOverage } from './bill-overage.ts'
export { renewSubscriptions } from './renew-subscriptions.ts'
export { watchInvoices } from './watch-invoices.ts'

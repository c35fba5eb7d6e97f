import type { AccountRow, Subscription } from './billing.ts'
import type { CardProcessor } from './card-processor.ts'

const monthAfter = (date: Date): Date => {
  const next = new Date(date)
  next.setUTCMonth(next.getUTCMonth() + 1)
  return next
}

/** Charges nothing, and otherwise behaves: declines the card that says so, renews every month, runs out when it was cancelled. */
export const sandbox: CardProcessor = {
  async enrol(_services, { account, payment_method_id }) {
    if (/chargeDeclined/i.test(payment_method_id)) return { outcome: 'declined', reason: 'card_declined' }
    return { outcome: 'enrolled', customer_id: account.customer_id ?? `cus_sandbox_${account.attempt}` }
  },
  async subscribe({ clock }, { account }) {
    const isNew = account.subscription_id === null || account.status === 'canceled'
    return {
      outcome: 'subscribed',
      subscription: {
        subscription_id: isNew ? `sub_sandbox_${account.attempt}` : (account.subscription_id as string),
        status: 'active',
        current_period_end: isNew ? monthAfter(clock.now()) : (account.current_period_end as Date),
        cancel_at_period_end: false,
      },
    }
  },
  cancel: async (_services, account) => ({ ...standing(account), cancel_at_period_end: true }),
  async look({ clock }, account) {
    const subscription = standing(account)
    if (subscription.current_period_end > clock.now()) return subscription
    if (account.cancel_at_period_end) return 'gone'
    let end = subscription.current_period_end
    while (end <= clock.now()) end = monthAfter(end)
    return { ...subscription, current_period_end: end }
  },
  end: async () => true,
  openInvoice: async (_services, { project_id, month }) => `in_sandbox_${project_id}_${month}`,
  sendInvoice: async () => true,
  lookAtInvoice: async () => 'paid',
}

const standing = (account: AccountRow): Subscription => ({
  subscription_id: account.subscription_id as string,
  status: account.status as string,
  current_period_end: account.current_period_end as Date,
  cancel_at_period_end: account.cancel_at_period_end,
})

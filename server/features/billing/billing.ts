import { z } from 'zod'
import type { Config } from '../../base/config.ts'
import type { ProjectId } from '../../base/ids.ts'
import { timestamp } from '../../operations/schemas.ts'

/** What the card processor knows of a project. */
export interface AccountRow {
  project_id: ProjectId
  customer_id: string | null
  subscription_id: string | null
  plan: string | null
  status: string | null
  current_period_end: Date | null
  cancel_at_period_end: boolean
  attempt: string | null
  attempt_until: Date | null
}

/** A subscription as the card processor tells of it. */
export interface Subscription {
  subscription_id: string
  status: string
  current_period_end: Date
  cancel_at_period_end: boolean
}

/** In these the plan is the project's. Past due: the card failed, and the card processor tries it again for a while. */
const liveStatuses = ['active', 'trialing', 'past_due']
export const isLive = (status: string | null): boolean => status !== null && liveStatuses.includes(status)

/** What one gets without paying, or not at all. */
const notForSale = ['anonymous', 'free', 'unlimited']

export const plansForSale = ({ PLANS, PAYMENTS }: Pick<Config, 'PLANS' | 'PAYMENTS'>) =>
  Object.entries(PLANS)
    .filter(([name, plan]) => !notForSale.includes(name) && PAYMENTS !== 'off' && (PAYMENTS === 'sandbox' || plan.stripe_price !== null))
    .map(([name, plan]) => ({ name, ...plan }))

export const NewSubscription = z.object({
  plan: z.string().max(50).meta({ description: 'One of the plans that GET /billing lists' }),
  payment_method_id: z
    .string()
    .regex(/^pm_\w{1,200}$/, 'must be a payment method of the card processor, pm_…')
    .meta({
      description: 'A card, as the card processor knows it. In the sandbox any pm_… is good, and pm_card_chargeDeclined is declined.',
    }),
})

export const SubscriptionResult = z
  .object({ subscription_id: z.string(), plan: z.string(), status: z.string(), current_period_end: timestamp })
  .meta({ id: 'Subscription' })

export const Billing = z
  .object({
    plan: z.string(),
    subscription: z
      .object({
        subscription_id: z.string(),
        plan: z.string(),
        status: z.string(),
        current_period_end: timestamp,
        cancel_at_period_end: z.boolean(),
      })
      .nullable(),
    plans: z
      .array(z.object({ name: z.string(), emails: z.number().nullable(), price_cents: z.number().nullable() }))
      .meta({ description: 'What can be subscribed to' }),
  })
  .meta({ id: 'Billing' })

export const toSubscription = (account: AccountRow | null) =>
  account?.subscription_id && account.plan && account.current_period_end && isLive(account.status)
    ? {
        subscription_id: account.subscription_id,
        plan: account.plan,
        status: account.status as string,
        current_period_end: account.current_period_end,
        cancel_at_period_end: account.cancel_at_period_end,
      }
    : null

const dollars = z
  .number('must be a number of dollars, or null for no cap')
  .min(0, 'must be at least 0')
  .max(1_000_000, 'must be at most 1000000')
  .refine((cap) => Math.abs(cap * 100 - Math.round(cap * 100)) < 1e-6, 'must be dollars and whole cents')

export const OverageChanges = z.object({
  overage_enabled: z.boolean().optional(),
  overage_cap: dollars.nullable().optional().meta({ description: 'Dollars a month; null for no cap' }),
})

export const Overage = z
  .object({
    overage_enabled: z.boolean(),
    overage_cap: z.number().nullable().meta({ description: 'Dollars a month; null for no cap' }),
    overage_rate: z.number().meta({ description: 'Dollars for an e-mail' }),
  })
  .meta({ id: 'Overage' })

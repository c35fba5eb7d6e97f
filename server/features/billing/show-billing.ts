import type { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import type { Context } from '../../operations/context.ts'
import { findTerms } from '../usage/index.ts'
import { type Billing, plansForSale, toSubscription } from './billing.ts'
import { findAccount } from './billing-queries.ts'

export async function showBilling({ database, config, caller }: Context): Promise<z.output<typeof Billing>> {
  const terms = await findTerms(database, caller.project_id)
  if (!terms) throw notFound('project')
  const account = await findAccount(database, caller.project_id)
  const plans = plansForSale(config).map(({ name, emails, price_cents }) => ({ name, emails, price_cents }))
  return { plan: terms.plan, subscription: toSubscription(account), plans }
}

import type { Config } from '../../base/config.ts'
import type { ProjectId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { otherPlans, type PeriodRow, type Terms } from './usage.ts'
import { findTerms, sumFreeUse } from './usage-queries.ts'

/** What holds today: where nothing can be charged, nothing can be sent on account. */
export async function termsOf({ config }: Pick<Services, 'config'>, db: Queryable, project_id: ProjectId): Promise<Terms> {
  const terms = await findTerms(db, project_id)
  if (!terms) throw new Error('a project without a row')
  return { ...terms, overage_enabled: terms.overage_enabled && canBeBilled(config, terms) }
}

export const canBeBilled = ({ PAYMENTS }: Pick<Config, 'PAYMENTS'>, { is_subscribed }: Pick<Terms, 'is_subscribed'>): boolean =>
  PAYMENTS === 'sandbox' || (PAYMENTS === 'stripe' && is_subscribed)

/** What the same owner's other projects on the free plan have taken of it: there is one for all of them. Other plans are the project's alone. */
export async function freeUseElsewhere(
  { config }: Pick<Services, 'config'>,
  db: Queryable,
  { terms, period }: { terms: Terms; period: PeriodRow },
): Promise<number> {
  const others = otherPlans(config)
  return others.includes(terms.plan) ? 0 : sumFreeUse(db, { ...period, owner_id: period.owner_id ?? terms.owner_id, others })
}

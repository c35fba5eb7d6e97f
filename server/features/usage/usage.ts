import { z } from 'zod'
import type { Config } from '../../base/config.ts'
import type { ProjectId } from '../../base/ids.ts'
import type { Plan } from '../../base/plans.ts'
import { timestamp } from '../../operations/schemas.ts'

/** Money is counted in thousandths of a dollar; an e-mail over the plan costs three of them. */
export const millsPerEmail = 3
export const dollarsOf = (mills: number): number => mills / 1000

/** What a project has sent in a month. `used` is everything; of it, `overage` is billed later and `paid` was paid for at once. */
export interface PeriodRow {
  project_id: ProjectId
  period_start: Date
  used: number
  overage: number
  paid: number
  billed_at: Date | null
}

/** What a project agreed to. */
export interface Terms {
  plan: string
  overage_enabled: boolean
  overage_cap_mills: number | null
}

/** Calendar months in UTC. */
export const periodStart = (at: Date): Date => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1))
export const periodEnd = (at: Date): Date => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1))

/** A plan that the configuration does not know any more counts as the free one. */
export const planNamed = ({ PLANS }: Pick<Config, 'PLANS'>, name: string): Plan => PLANS[name] ?? (PLANS.free as Plan)

/** What is left of the plan, and of what was paid for and not used; null without a limit. After a downgrade it is none, not a debt. */
export const roomIn = (plan: Plan, { used, overage, paid }: Pick<PeriodRow, 'used' | 'overage' | 'paid'>): number | null =>
  plan.emails === null ? null : Math.max(0, plan.emails - (used - overage - paid))

export type Standing = { outcome: 'fits'; overage: number } | { outcome: 'limit_exceeded' | 'spending_cap_reached'; excess: number }

/** Whether `count` more may go: from the plan, or from the plan and the overage. All of them or none. */
export function standingOf({ plan, terms, period, count }: { plan: Plan; terms: Terms; period: PeriodRow; count: number }): Standing {
  const room = roomIn(plan, period)
  const excess = room === null ? 0 : Math.max(0, count - room)
  if (excess === 0) return { outcome: 'fits', overage: 0 }
  if (!terms.overage_enabled) return { outcome: 'limit_exceeded', excess }
  const cap = terms.overage_cap_mills
  if (cap !== null && (period.overage + excess) * millsPerEmail > cap) return { outcome: 'spending_cap_reached', excess }
  return { outcome: 'fits', overage: excess }
}

export const Usage = z
  .object({
    plan: z.string(),
    period_start: timestamp,
    period_end: timestamp,
    emails_included: z.number().nullable().meta({ description: 'Null: the plan has no limit' }),
    emails_sent: z.number(),
    emails_remaining: z.number().nullable().meta({ description: 'Of the plan, and of e-mails that were paid for and not used' }),
    overage: z.object({
      enabled: z.boolean(),
      count: z.number(),
      rate: z.number().meta({ description: 'Dollars for an e-mail' }),
      cost: z.number().meta({ description: 'Dollars' }),
      cap: z.number().nullable().meta({ description: 'Dollars a month; null for none' }),
      cap_remaining: z.number().nullable(),
    }),
  })
  .meta({ id: 'Usage' })

export function toUsage(plan: Plan, terms: Terms, period: PeriodRow): z.output<typeof Usage> {
  const cost = period.overage * millsPerEmail
  const cap = terms.overage_cap_mills
  return {
    plan: terms.plan,
    period_start: period.period_start,
    period_end: periodEnd(period.period_start),
    emails_included: plan.emails,
    emails_sent: period.used,
    emails_remaining: roomIn(plan, period),
    overage: {
      enabled: terms.overage_enabled,
      count: period.overage,
      rate: dollarsOf(millsPerEmail),
      cost: dollarsOf(cost),
      cap: cap === null ? null : dollarsOf(cap),
      cap_remaining: cap === null ? null : dollarsOf(Math.max(0, cap - cost)),
    },
  }
}

import { z } from 'zod'
import type { Config } from '../../base/config.ts'
import type { ProjectId, UserId } from '../../base/ids.ts'
import { dollarsOf, millsPerEmail, type Plan } from '../../base/plans.ts'
import { timestamp } from '../../operations/schemas.ts'

/**
 * What a project has sent in a month. `used` is everything; of it, `overage` is billed later and `paid_used` was paid for at once. `paid` is
 * all that was paid for at once, sent or not.
 */
export interface PeriodRow {
  project_id: ProjectId
  period_start: Date
  used: number
  overage: number
  paid: number
  paid_used: number
  /** Who owned the project when it first sent in that month. Null: not yet. */
  owner_id: UserId | null
  invoice_id: string | null
  billed_at: Date | null
}

/** What a project agreed to. */
export interface Terms {
  plan: string
  overage_enabled: boolean
  overage_cap_mills: number | null
  owner_id: UserId
  /** Has a subscription that is paid, or may yet be. */
  is_subscribed: boolean
}

/** Calendar months in UTC. */
export const periodStart = (at: Date): Date => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1))
export const periodEnd = (at: Date): Date => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1))

/** A plan that the configuration does not know any more counts as the free one. */
export const planNamed = ({ PLANS }: Pick<Config, 'PLANS'>, name: string): Plan => PLANS[name] ?? (PLANS.free as Plan)

/** All but the free one, and those that count as it. */
export const otherPlans = ({ PLANS }: Pick<Config, 'PLANS'>): string[] => Object.keys(PLANS).filter((name) => name !== 'free')

/**
 * What is left of the plan. `elsewhere` is what other projects have taken of the same one. A month may have more in it than its plan, after a downgrade or a merge: then none is left, and what is over is
 * no debt that a payment would have to fill first.
 */
const leftOfPlan = (plan: Plan, { used, overage, paid_used }: PeriodRow, elsewhere: number): number =>
  plan.emails === null ? Number.POSITIVE_INFINITY : Math.max(0, plan.emails - (used - overage - paid_used) - elsewhere)

/** What an agent without the scope to send has taken of its allowance, and has paid for and not used. */
export interface OwnUse {
  taken: number
  paid_left: number
}

interface Room {
  plan: number
  paid: number
}

/** An agent has a free plan of its own within the project's, and what it paid for itself. */
function roomIn({ plan, period, elsewhere, own }: Pick<Question, 'plan' | 'period' | 'elsewhere' | 'own'>): Room {
  const room = { plan: leftOfPlan(plan, period, elsewhere), paid: period.paid - period.paid_used }
  if (!own) return room
  const { free, use } = own
  const allowance = free.emails === null ? Number.POSITIVE_INFINITY : Math.max(0, free.emails - use.taken)
  return { plan: Math.min(room.plan, allowance), paid: Math.max(0, Math.min(room.paid, use.paid_left)) }
}

/** What fits says where it is taken from: so much from what was paid for, so much on account, the rest from the plan. */
export type Standing =
  | { outcome: 'fits'; paid: number; overage: number }
  | { outcome: 'limit_exceeded' | 'spending_cap_reached'; excess: number }

export interface Question {
  plan: Plan
  terms: Terms
  period: PeriodRow
  /** What other projects have taken of the same plan. */
  elsewhere: number
  count: number
  /** E-mails that are paid for with this very request. */
  paidFor: number
  own?: { free: Plan; use: OwnUse }
}

/** Whether `count` more may go: from the plan, then from what was paid for, then on account. All of them or none. */
export function standingOf({ plan, terms, period, elsewhere, count, paidFor, own }: Question): Standing {
  const room = roomIn({ plan, period, elsewhere, ...(own ? { own } : {}) })
  const beyondPlan = Math.max(0, count - room.plan)
  const paid = Math.min(beyondPlan, room.paid + paidFor)
  const excess = beyondPlan - paid
  if (excess === 0) return { outcome: 'fits', paid, overage: 0 }
  if (!terms.overage_enabled || own) return { outcome: 'limit_exceeded', excess }
  const cap = terms.overage_cap_mills
  if (cap !== null && (period.overage + excess) * millsPerEmail > cap) return { outcome: 'spending_cap_reached', excess }
  return { outcome: 'fits', paid, overage: excess }
}

export const Usage = z
  .object({
    plan: z.string(),
    period_start: timestamp,
    period_end: timestamp,
    emails_included: z.number().nullable().meta({ description: 'Null: the plan has no limit' }),
    emails_sent: z.number(),
    emails_remaining: z.number().nullable().meta({
      description:
        'Of the plan, and of e-mails that were paid for and not used. All projects of one owner on the free plan share one: what they have sent is taken off here.',
    }),
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

export function toUsage({ plan, terms, period, elsewhere }: Omit<Question, 'count' | 'paidFor' | 'own'>): z.output<typeof Usage> {
  const room = roomIn({ plan, period, elsewhere })
  const cost = period.overage * millsPerEmail
  const cap = terms.overage_cap_mills
  return {
    plan: terms.plan,
    period_start: period.period_start,
    period_end: periodEnd(period.period_start),
    emails_included: plan.emails,
    emails_sent: period.used,
    emails_remaining: plan.emails === null ? null : room.plan + room.paid,
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

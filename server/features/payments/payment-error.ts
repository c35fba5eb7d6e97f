import { ApiError } from '../../base/errors.ts'
import { priceText } from '../../base/plans.ts'
import type { Context } from '../../operations/context.ts'
import { issueChallenge } from './challenge.ts'
import { ownMailboxOf } from './own-mailbox.ts'
import { type ProblemName, type Purchase, problemOf } from './payment.ts'

export interface Lack {
  outcome: 'limit_exceeded' | 'spending_cap_reached'
  /** How many e-mails there is no room for. */
  excess: number
}

export interface Refusal {
  lack: Lack
  problem: ProblemName
  /** What was wrong with the payment that came; nothing, when none came. */
  detail?: string
}

const pay = 'Pay for this request with the challenge in WWW-Authenticate'
/** What is used up, what helps, and whom to ask where nothing can be paid. */
const reasons = {
  limit_exceeded: {
    why: 'The plan has no room left for this month',
    ways: `${pay}, enable overage, or subscribe to a larger plan.`,
    ask: 'Ask the operator of this installation for a larger plan.',
  },
  spending_cap_reached: {
    why: 'The plan is used up, and so is the monthly cap on overage',
    ways: `${pay}, raise the cap, or subscribe to a larger plan.`,
    ask: 'Ask the operator of this installation for a larger plan.',
  },
  agent: {
    why: 'There is no room left this month for an agent without the scope "send"',
    ways: `${pay}, or ask the person it belongs to for the scope "send".`,
    ask: 'Ask the person it belongs to for the scope "send".',
  },
} as const

/** 402 with a challenge that pays for this very request. Where nothing can be paid, it says whom to ask. */
export async function paymentError(context: Context, purchase: Purchase, { lack, problem, detail }: Refusal): Promise<ApiError> {
  const { config } = context
  const { outcome, excess } = lack
  const { why, ways, ask } = reasons[ownMailboxOf(context.caller) === null ? outcome : 'agent']
  const short = excess === 0 ? '' : `${why}: ${excess} of ${purchase.count} ${purchase.count === 1 ? 'e-mail' : 'e-mails'} did not fit.`
  if (config.PAYMENTS === 'off') return new ApiError(outcome, `${short} ${ask}`, { headers: noStore })
  const offer = await issueChallenge(context, purchase, Math.max(1, excess))
  return new ApiError(outcome, [detail, short, ways].filter(Boolean).join(' '), {
    headers: { ...noStore, 'www-authenticate': offer.header },
    problem: problemOf(problem, offer.id),
    members: {
      upgrade_url: `${config.API_URL}/billing/subscribe`,
      enable_overage_url: `${config.API_URL}/settings/overage`,
      payment: {
        ...{ method: 'stripe', intent: 'charge', currency: 'usd', amount: offer.amount_cents },
        ...{ description: priceText, emails: offer.emails, challenge_id: offer.id },
      },
    },
  })
}

const noStore = { 'cache-control': 'no-store' }

/** The card may have been charged or not; the same request with the same credential finds out, and is not charged twice. */
export const unclearPayment = (): ApiError =>
  new ApiError(
    'provider_error',
    'The card processor gave no clear answer, so nothing was sent. Send the same request with the same credential again: it is not charged twice.',
    { headers: { ...noStore, 'retry-after': '5' }, problem: problemOf('internal-payment-error') },
  )

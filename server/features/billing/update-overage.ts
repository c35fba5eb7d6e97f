import { isDeepStrictEqual } from 'node:util'
import { invalid, notFound } from '../../base/errors.ts'
import type { Transaction } from '../../database/database.ts'
import type { Context } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findTerms } from '../usage/index.ts'
import type { Terms } from '../usage/usage.ts'
import { Overage, OverageChanges } from './billing.ts'
import { findUnpaidMonth, saveOverage } from './billing-queries.ts'
import { nameOfMonth, toOverage } from './overage.ts'

/** Nobody is to find a bill of a thousand dollars because they forgot to say how much. */
const defaultCapMills = 50_000

export const updateOverage = defineOperation({
  id: 'overage.update',
  method: 'POST',
  path: '/settings/overage',
  scope: 'admin',
  summary: 'Allow more e-mails than the plan has, up to a cap',
  description:
    'They are billed after the month is over, to the card of the subscription. Fields left out stay as they are; whoever enables it without ever naming a cap gets one of $50 a month. `overage_cap` null is no cap.',
  body: OverageChanges,
  result: Overage,
  status: 200,
  errors: [],

  async run(context, { body }) {
    const { database, caller } = context
    return database.transaction(async (tx) => {
      const before = await findTerms(tx, caller.project_id)
      if (!before) throw notFound('project')
      const terms = { ...before }
      if (body.overage_enabled !== undefined) terms.overage_enabled = body.overage_enabled
      if (body.overage_cap !== undefined) terms.overage_cap_mills = body.overage_cap === null ? null : Math.round(body.overage_cap * 1000)
      if (body.overage_enabled) await refuseUnpayable(context, tx, before)
      if (terms.overage_enabled && !before.overage_enabled && body.overage_cap === undefined) terms.overage_cap_mills ??= defaultCapMills
      if (!isDeepStrictEqual(terms, before)) await saveOverage(tx, caller.project_id, terms)
      return toOverage(terms)
    })
  },
})

/** What nobody can be billed for cannot be sent on account. */
async function refuseUnpayable({ config, caller }: Context, tx: Transaction, { is_subscribed }: Terms): Promise<void> {
  if (config.PAYMENTS === 'off')
    throw invalid('overage_enabled', 'is not possible: this installation takes no payments. Ask its operator for a larger plan')
  if (config.PAYMENTS === 'stripe' && !is_subscribed)
    throw invalid('overage_enabled', 'needs a subscription, whose card is billed. Subscribe to a plan first (POST /billing/subscribe)')
  const unpaid = await findUnpaidMonth(tx, caller.project_id)
  if (unpaid)
    throw invalid(
      'overage_enabled',
      `is not possible while the invoice for ${nameOfMonth(unpaid)} is not paid. Pay it, and try again a day later`,
    )
}

import { defineJob } from '../../jobs/jobs.ts'
import type { Services } from '../../operations/context.ts'
import { periodStart } from '../usage/usage.ts'
import { listUnbilledMonths, markBilled, type UnbilledMonth } from './billing-queries.ts'
import { cardProcessorOf, type OverageBill } from './card-processor.ts'

/** What is still on its way when a month ends may yet be given back; after two days it is settled. */
const settledAfterMs = 2 * 24 * 3_600_000
const batch = 1000

/** Bills the overage of months that are over. Every day, so that a month that could not be billed is tried again. */
export const billOverage = defineJob<object>({
  name: 'billing.bill_overage',
  schedule: '20 4 * * *',
  async run(services: Services) {
    const processor = cardProcessorOf(services)
    if (!processor) return
    const { database, clock, log } = services
    const before = periodStart(new Date(clock.now().getTime() - settledAfterMs))
    for (const month of await listUnbilledMonths(database, before, batch)) {
      const bill = billFor(month)
      // Less than half a cent is nothing.
      const isBilled = bill.amount_cents === 0 || (await processor.billOverage(services, bill))
      if (isBilled) await markBilled(database, month, clock.now())
      else log.warn({ project_id: month.project_id, month: bill.month }, 'overage could not be billed and is tried again tomorrow')
    }
  },
})

const billFor = ({ project_id, customer_id, period_start, overage }: UnbilledMonth): OverageBill => ({
  project_id,
  customer_id,
  month: period_start.toISOString().slice(0, 7),
  emails: overage,
  amount_cents: Math.round((overage * 3) / 10),
})

import { overageCents } from '../../base/plans.ts'
import { defineJob } from '../../jobs/jobs.ts'
import type { Services } from '../../operations/context.ts'
import { periodEnd, periodStart } from '../usage/usage.ts'
import { beginInvoice, listUnbilledMonths, markBilled, type UnbilledMonth } from './billing-queries.ts'
import { type CardProcessor, cardProcessorOf, type OverageBill } from './card-processor.ts'
import { nameOfMonth } from './overage.ts'

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
      if (await isBilled(services, processor, month)) await markBilled(database, month, clock.now())
      else log.warn({ project_id: month.project_id, month: nameOfMonth(month) }, 'overage could not be billed and is tried again tomorrow')
    }
  },
})

/** The invoice is known here before anything is on it: what is put on it is what stood here then. */
async function isBilled(services: Services, processor: CardProcessor, month: UnbilledMonth): Promise<boolean> {
  if (overageCents(month.overage) === 0) return true
  const invoice_id = month.invoice_id ?? (await processor.openInvoice(services, billFor(month)))
  const begun = invoice_id === null ? null : await beginInvoice(services.database, month, invoice_id)
  return begun !== null && processor.sendInvoice(services, billFor({ ...month, ...begun }), begun.invoice_id)
}

const billFor = (month: UnbilledMonth): OverageBill => ({
  project_id: month.project_id,
  customer_id: month.customer_id,
  since: periodEnd(month.period_start),
  month: nameOfMonth(month),
  emails: month.overage,
  amount_cents: overageCents(month.overage),
})

import { defineJob } from '../../jobs/jobs.ts'
import { leaveAuditRow } from '../../operations/audit.ts'
import type { Services } from '../../operations/context.ts'
import { disableOverage, pageSentInvoices, type SentInvoice, saveInvoiceStatus } from './billing-queries.ts'
import { cardProcessorOf } from './card-processor.ts'

const batch = 200
const name = 'billing.watch_invoices'

/** Every day: what became of the invoices for overage. Who has not paid for one sends nothing more on account until it is paid. */
export const watchInvoices = defineJob<object>({
  name,
  schedule: '40 4 * * *',
  async run(services: Services) {
    const processor = cardProcessorOf(services)
    if (!processor) return
    for (let after = ''; ; ) {
      const invoices = await pageSentInvoices(services.database, after, batch)
      for (const invoice of invoices) {
        const found = await processor.lookAtInvoice(services, invoice.invoice_id)
        if (found !== null && found !== 'open' && found !== invoice.invoice_status) await settle(services, invoice, found)
      }
      if (invoices.length < batch) return
      after = invoices.at(-1)?.invoice_id as string
    }
  },
})

const settle = ({ database }: Services, invoice: SentInvoice, found: 'paid' | 'unpaid'): Promise<void> =>
  database.transaction(async (tx) => {
    await saveInvoiceStatus(tx, invoice, found)
    if (found === 'paid') return
    const { project_id, invoice_id } = invoice
    await disableOverage(tx, project_id)
    await leaveAuditRow(tx, { project_id, operation: 'billing.overage_unpaid', caller: null, target: { invoice_id }, request_id: name })
  })

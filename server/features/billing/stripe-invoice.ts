import type { Services } from '../../operations/context.ts'
import { askStripe } from '../payments/index.ts'
import type { OverageBill } from './card-processor.ts'
import { findInList } from './stripe-list.ts'

/**
 * The overage of a month as an invoice at Stripe: an empty draft, which is found again by its metadata; the item, put on that draft and
 * on no other; then it is finalized, and Stripe collects it. Any answer may be lost and the next try is a day later, when Stripe has
 * forgotten the idempotency keys: so each step first looks at what is there.
 */
export async function openStripeInvoice(
  services: Services,
  { project_id, customer_id, month, since }: OverageBill,
): Promise<string | null> {
  if (customer_id === null) return null
  const query = { customer: customer_id, 'created[gte]': String(Math.floor(since.getTime() / 1000)) }
  const found = await findInList(
    services,
    { path: '/v1/invoices', query },
    ({ metadata }) => metadata.project_id === project_id && metadata.month === month,
  )
  if (found.kind !== 'none') return found.kind === 'found' ? found.id : null
  const made = await askStripe(services, {
    method: 'POST',
    path: '/v1/invoices',
    idempotencyKey: `overage_invoice_${project_id}_${month}`,
    form: {
      customer: customer_id,
      // Stripe would send it off by itself after an hour, empty as it is.
      auto_advance: 'false',
      pending_invoice_items_behavior: 'exclude',
      'metadata[project_id]': project_id,
      'metadata[month]': month,
    },
  })
  return made.kind === 'done' ? String(made.body.id) : null
}

export async function sendStripeInvoice(
  services: Services,
  { customer_id, month, emails, amount_cents }: OverageBill,
  invoice: string,
): Promise<boolean> {
  const path = `/v1/invoices/${invoice}` as const
  const standing = await askStripe(services, { method: 'GET', path })
  if (standing.kind !== 'done') return false
  if (standing.body.status !== 'draft') return true
  if ((standing.body.lines as { data: unknown[] }).data.length === 0) {
    const item = await askStripe(services, {
      method: 'POST',
      path: '/v1/invoiceitems',
      idempotencyKey: `overage_item_${invoice}`,
      form: {
        ...{ customer: customer_id as string, invoice, currency: 'usd', amount: String(amount_cents) }, // whoever has an invoice is a customer
        description: `${emails} e-mails over the plan in ${month}`,
      },
    })
    if (item.kind !== 'done') return false
  }
  const sent = await askStripe(services, {
    method: 'POST',
    path: `${path}/finalize`,
    idempotencyKey: `overage_send_${invoice}`,
    form: { auto_advance: 'true' },
  })
  return sent.kind === 'done'
}

/** Of one that is void nothing is owed. */
export async function lookAtStripeInvoice(services: Services, invoice: string): Promise<'open' | 'paid' | 'unpaid' | null> {
  const answer = await askStripe(services, { method: 'GET', path: `/v1/invoices/${invoice}` })
  if (answer.kind !== 'done') return null
  const { status, attempted } = answer.body
  if (status === 'paid' || status === 'void') return 'paid'
  return status === 'uncollectible' || attempted === true ? 'unpaid' : 'open'
}

import { newId, type ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { leaveAuditRow } from '../../operations/audit.ts'
import { setPlan } from '../usage/index.ts'
import type { AccountRow, Subscription } from './billing.ts'
import type { Attempt } from './card-processor.ts'

export const findAccount = (db: Queryable, project_id: ProjectId) => db.first<AccountRow>`
  select * from billing_accounts where project_id = ${project_id}`

/** A subscription is made with the card processor by one request at a time. */
const attemptLastsMs = 120_000

/**
 * Null when somebody else is at it, or the project has this plan already. An attempt whose end nobody knows keeps its name, so that the
 * card processor takes the next one for the same. One statement of its own: a card that is declined has changed nothing.
 */
export const beginAttempt = (db: Queryable, project_id: ProjectId, { plan, now }: { plan: string; now: Date }) => {
  const until = new Date(now.getTime() + attemptLastsMs)
  const fresh = newId()
  return db.first<Attempt>`
    insert into billing_accounts as a (project_id, attempt, attempt_until, updated_at)
    values (${project_id}, ${fresh}, ${until}, ${now})
    on conflict (project_id) do update set attempt = coalesce(a.attempt, excluded.attempt), attempt_until = ${until}, updated_at = ${now}
    where (a.attempt_until is null or a.attempt_until <= ${now})
      and not (coalesce(a.status in ('active', 'trialing', 'past_due'), false) and a.plan = ${plan} and not a.cancel_at_period_end)
    returning *, attempt <> ${fresh} as is_resumed`
}

export const saveCustomer = (db: Queryable, { project_id, attempt }: Attempt, customer_id: string) => db.run`
  update billing_accounts set customer_id = ${customer_id} where project_id = ${project_id} and attempt = ${attempt}`

export const endAttempt = (db: Queryable, { project_id, attempt }: Attempt) => db.run`
  update billing_accounts set attempt = null, attempt_until = null where project_id = ${project_id} and attempt = ${attempt}`

/** Nobody knows how it ended: the next request may try again at once, under the same name. */
export const suspendAttempt = (db: Queryable, { project_id, attempt }: Attempt, now: Date) => db.run`
  update billing_accounts set attempt_until = ${now} where project_id = ${project_id} and attempt = ${attempt}`

export const saveSubscription = (
  tx: Transaction,
  project_id: ProjectId,
  { subscription_id, status, current_period_end, cancel_at_period_end }: Subscription,
) => tx.run`
  update billing_accounts set subscription_id = ${subscription_id}, status = ${status}, current_period_end = ${current_period_end},
    cancel_at_period_end = ${cancel_at_period_end}, updated_at = ${tx.now}
  where project_id = ${project_id}`

export const savePlan = async (tx: Transaction, project_id: ProjectId, plan: string): Promise<void> => {
  await tx.run`update billing_accounts set plan = ${plan} where project_id = ${project_id}`
  await setPlan(tx, project_id, plan)
}

/**
 * Back to the free plan, unless the operator has given the project another one, and nothing more on account. Nobody asked: a job found
 * out. A deleted project stays what it was: its last month was paid for, and takes nothing from its owner's free plan.
 */
export const lapse = async (tx: Transaction, account: LiveAccount, request_id: string): Promise<void> => {
  const { project_id, plan, subscription_id, is_project_deleted } = account
  await tx.run`update billing_accounts set status = 'canceled', updated_at = ${tx.now} where project_id = ${project_id}`
  const isBack = !is_project_deleted && (await setPlan(tx, project_id, 'free', { from: plan }))
  await disableOverage(tx, project_id)
  const target = { subscription_id, plan: isBack ? 'free' : null }
  await leaveAuditRow(tx, { project_id, operation: 'billing.lapse', caller: null, target, request_id })
}

export interface LiveAccount extends AccountRow {
  is_project_deleted: boolean
}

export const pageLiveAccounts = (db: Queryable, after: string, limit: number) => db.many<LiveAccount>`
  select a.*, p.deleted_at is not null as is_project_deleted
  from billing_accounts a join projects p on p.id = a.project_id
  where a.status in ('active', 'trialing', 'past_due') and a.project_id > ${after} order by a.project_id limit ${limit}`

export interface UnbilledMonth {
  project_id: ProjectId
  period_start: Date
  overage: number
  invoice_id: string | null
  customer_id: string | null
}

export const listUnbilledMonths = (db: Queryable, before: Date, limit: number) => db.many<UnbilledMonth>`
  select u.project_id, u.period_start, u.overage, u.invoice_id, a.customer_id
  from usage_periods u left join billing_accounts a on a.project_id = u.project_id
  where u.overage > 0 and u.billed_at is null and u.period_start < ${before} order by u.period_start, u.project_id limit ${limit}`

/** From here on nothing is given back: what this answers is what is billed. Who was faster has named the invoice. */
export const beginInvoice = (db: Queryable, month: UnbilledMonth, invoice_id: string) => db.first<{ invoice_id: string; overage: number }>`
  update usage_periods set invoice_id = coalesce(invoice_id, ${invoice_id})
  where project_id = ${month.project_id} and period_start = ${month.period_start} and billed_at is null
  returning invoice_id, overage`

export const markBilled = async (db: Queryable, month: UnbilledMonth, at: Date): Promise<boolean> =>
  (await db.run`
    update usage_periods set billed_at = ${at}
    where project_id = ${month.project_id} and period_start = ${month.period_start} and billed_at is null`) === 1

export interface SentInvoice {
  project_id: ProjectId
  period_start: Date
  invoice_id: string
  invoice_status: 'unpaid' | null
}

/** Invoices that are complete and not known to be paid. */
export const pageSentInvoices = (db: Queryable, after: string, limit: number) => db.many<SentInvoice>`
  select project_id, period_start, invoice_id, invoice_status from usage_periods
  where billed_at is not null and invoice_id is not null and invoice_status is distinct from 'paid' and invoice_id > ${after}
  order by invoice_id limit ${limit}`

export const saveInvoiceStatus = (tx: Transaction, month: SentInvoice, status: 'paid' | 'unpaid') => tx.run`
  update usage_periods set invoice_status = ${status}
  where project_id = ${month.project_id} and period_start = ${month.period_start} and invoice_id = ${month.invoice_id}`

export const findUnpaidMonth = (db: Queryable, project_id: ProjectId) => db.first<{ period_start: Date }>`
  select period_start from usage_periods where project_id = ${project_id} and invoice_status = 'unpaid' order by period_start limit 1`

export const disableOverage = (tx: Transaction, project_id: ProjectId) => tx.run`
  update projects set overage_enabled = false where id = ${project_id} and overage_enabled`

export const saveOverage = (
  tx: Transaction,
  project_id: ProjectId,
  terms: { overage_enabled: boolean; overage_cap_mills: number | null },
) =>
  tx.run`
    update projects set overage_enabled = ${terms.overage_enabled}, overage_cap_mills = ${terms.overage_cap_mills} where id = ${project_id}`

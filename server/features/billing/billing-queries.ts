import { newId, type ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import type { AccountRow, Subscription } from './billing.ts'

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
  return db.first<AccountRow & { attempt: string }>`
    insert into billing_accounts as a (project_id, attempt, attempt_until, updated_at)
    values (${project_id}, ${newId()}, ${until}, ${now})
    on conflict (project_id) do update set attempt = coalesce(a.attempt, excluded.attempt), attempt_until = ${until}, updated_at = ${now}
    where (a.attempt_until is null or a.attempt_until <= ${now})
      and not (coalesce(a.status in ('active', 'trialing', 'past_due'), false) and a.plan = ${plan} and not a.cancel_at_period_end)
    returning *`
}

/** The attempt is over. A customer that was made on the way is kept. */
export const endAttempt = (db: Queryable, { project_id, attempt }: AccountRow, customer_id: string | null) => db.run`
  update billing_accounts set attempt = null, attempt_until = null, customer_id = coalesce(${customer_id}, customer_id)
  where project_id = ${project_id} and attempt = ${attempt}`

/** Nobody knows how it ended: the next request may try again at once, under the same name. */
export const suspendAttempt = (db: Queryable, { project_id, attempt }: AccountRow, now: Date) => db.run`
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
  await tx.run`update projects set plan = ${plan} where id = ${project_id}`
}

/** Back to the free plan, unless the operator has given the project another one; and nothing more on account. */
export const lapse = async (tx: Transaction, { project_id, plan }: AccountRow): Promise<void> => {
  await tx.run`update billing_accounts set status = 'canceled', updated_at = ${tx.now} where project_id = ${project_id}`
  await tx.run`update projects set plan = 'free', overage_enabled = false where id = ${project_id} and plan = ${plan}`
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
  customer_id: string | null
}

export const listUnbilledMonths = (db: Queryable, before: Date, limit: number) => db.many<UnbilledMonth>`
  select u.project_id, u.period_start, u.overage, a.customer_id
  from usage_periods u left join billing_accounts a on a.project_id = u.project_id
  where u.overage > 0 and u.billed_at is null and u.period_start < ${before} order by u.period_start, u.project_id limit ${limit}`

/** What is billed is what was read, and nothing is given back after that. */
export const markBilled = async (db: Queryable, month: UnbilledMonth, at: Date): Promise<boolean> =>
  (await db.run`
    update usage_periods set billed_at = ${at}
    where project_id = ${month.project_id} and period_start = ${month.period_start} and billed_at is null`) === 1

export const saveOverage = (
  tx: Transaction,
  project_id: ProjectId,
  terms: { overage_enabled: boolean; overage_cap_mills: number | null },
) =>
  tx.run`
    update projects set overage_enabled = ${terms.overage_enabled}, overage_cap_mills = ${terms.overage_cap_mills} where id = ${project_id}`

import type { MailboxId, ProjectId, UserId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { type Fragment, nothing, sql } from '../../database/sql.ts'
import type { OwnUse, PeriodRow, Terms } from './usage.ts'

export const findTerms = (db: Queryable, project_id: ProjectId) => db.first<Terms>`
  select plan, overage_enabled, overage_cap_mills, owner_id,
    exists (select 1 from billing_accounts where project_id = p.id and status in ('active', 'trialing', 'past_due')) as is_subscribed
  from projects p where id = ${project_id}`

/** The only one who writes a project's plan. `from`: only if it is on that one; false when it is not. */
export const setPlan = async (
  tx: Transaction,
  project_id: ProjectId,
  plan: string,
  { from }: { from?: string | null } = {},
): Promise<boolean> =>
  (await tx.run`
    update projects set plan = ${plan} where id = ${project_id} ${from === undefined ? nothing : sql`and plan = ${from}`}`) === 1

export interface PeriodKey {
  project_id: ProjectId
  period_start: Date
}

/** A month in which nothing was sent has no row. */
export const findPeriod = async (db: Queryable, key: PeriodKey): Promise<PeriodRow> =>
  (await db.first<PeriodRow>`
    select * from usage_periods where project_id = ${key.project_id} and period_start = ${key.period_start}`) ?? {
    ...key,
    used: 0,
    overage: 0,
    paid: 0,
    paid_used: 0,
    owner_id: null,
    invoice_id: null,
    billed_at: null,
  }

/** The month's row, held until the transaction ends: whoever books next waits, and sees what was booked. */
export async function lockPeriod(tx: Transaction, key: PeriodKey): Promise<PeriodRow> {
  const look = () => tx.first<PeriodRow>`
    select * from usage_periods where project_id = ${key.project_id} and period_start = ${key.period_start} for update`
  const known = await look()
  if (known) return known
  await tx.run`
    insert into usage_periods (project_id, period_start, owner_id)
    select id, ${key.period_start}, owner_id from projects where id = ${key.project_id} on conflict do nothing`
  return (await look()) as PeriodRow // made just now, by us or by whoever was faster
}

/** Of all projects that share a free plan, one books at a time. Taken before the month's row, by all: so nobody waits in a ring. */
export const lockFreePlan = (tx: Transaction, key: PeriodKey, others: string[]) => tx.run`
  select pg_advisory_xact_lock(hashtextextended('free plan of ' || coalesce(u.owner_id, p.owner_id), 0))
  from projects p left join usage_periods u on u.project_id = p.id and u.period_start = ${key.period_start}
  where p.id = ${key.project_id} and p.plan <> all(${others})`

/** What the owner's other projects have taken of the free plan, those that were deleted, too. Exact for whoever holds the free plan. */
export const sumFreeUse = async (db: Queryable, key: PeriodKey & { owner_id: UserId; others: string[] }): Promise<number> =>
  (
    await db.first<{ taken: number }>`
    select coalesce(sum(u.used - u.overage - u.paid_used), 0)::bigint as taken
    from usage_periods u join projects p on p.id = u.project_id
    where u.owner_id = ${key.owner_id} and u.period_start = ${key.period_start} and u.project_id <> ${key.project_id}
      and p.plan <> all(${key.others})`
  )?.taken ?? 0

type Sums = Pick<PeriodRow, 'used' | 'overage' | 'paid' | 'paid_used'>

export const addToPeriod = (tx: Transaction, key: PeriodKey, { used = 0, overage = 0, paid = 0, paid_used = 0 }: Partial<Sums>) =>
  tx.run`
    update usage_periods set used = used + ${used}, overage = overage + ${overage}, paid = paid + ${paid}, paid_used = paid_used + ${paid_used}
    where project_id = ${key.project_id} and period_start = ${key.period_start}`

export interface PlanLimit {
  name: string
  /** Null: as many as one likes. */
  emails: number | null
}

export interface PlainBookings extends PeriodKey {
  bookings: { reservation_id: string; count: number }[]
}

/**
 * Books within a plan that is the project's alone, in one statement: the month's row, which all sends of a project wait for, is held
 * for nothing but this and the commit. `counted` has a row when all of them are booked; none, and nothing is, when the plan is none of
 * these, or has no room for all.
 */
export function bookedWithinPlan(
  { now }: Pick<Transaction, 'now'>,
  { project_id, period_start, bookings }: PlainBookings,
  plans: PlanLimit[],
): Fragment {
  const all = bookings.reduce((sum, { count }) => sum + count, 0)
  return sql`own_plan as (
      select p.id, p.owner_id, plan.emails from projects p
      join unnest(${plans.map(({ name }) => name)}::text[], ${plans.map(({ emails }) => emails)}::bigint[]) as plan (name, emails) on plan.name = p.plan
      where p.id = ${project_id} and (plan.emails is null or ${all}::bigint <= plan.emails)
    ), counted as (
      insert into usage_periods (project_id, period_start, owner_id, used)
      select id, ${period_start}, owner_id, ${all}::bigint from own_plan
      on conflict (project_id, period_start) do update set used = usage_periods.used + excluded.used
      where (select emails is null or usage_periods.used - usage_periods.overage - usage_periods.paid_used + excluded.used <= emails from own_plan)
      returning 1
    ), reserved as (
      insert into usage_reservations (project_id, id, period_start, count, created_at)
      select ${project_id}, b.id, ${period_start}, b.count, ${now}
      from counted, unnest(${bookings.map(({ reservation_id }) => reservation_id)}::uuid[], ${bookings.map(({ count }) => count)}::bigint[]) as b (id, count))`
}

export interface ReservationRow extends PeriodKey {
  id: string
  count: number
  overage: number
  paid: number
  paid_for: number
  mailbox_id: MailboxId | null
}

export const insertReservation = (tx: Transaction, row: ReservationRow) => tx.run`
  insert into usage_reservations (project_id, id, period_start, count, overage, paid, paid_for, mailbox_id, created_at)
  values (${row.project_id}, ${row.id}, ${row.period_start}, ${row.count}, ${row.overage}, ${row.paid}, ${row.paid_for}, ${row.mailbox_id}, ${tx.now})`

/** Exact for whoever holds the month's row: nobody else adds to these then. */
export const sumOwnUse = async (db: Queryable, key: PeriodKey & { mailbox_id: MailboxId }): Promise<OwnUse> =>
  (await db.first<OwnUse>`
    select coalesce(sum(count - paid), 0)::bigint as taken, coalesce(sum(paid_for - paid), 0)::bigint as paid_left from usage_reservations
    where project_id = ${key.project_id} and mailbox_id = ${key.mailbox_id} and period_start = ${key.period_start}`) as OwnUse

export const lockReservation = (tx: Transaction, key: { project_id: ProjectId; reservation_id: string }) => tx.first<ReservationRow>`
  select * from usage_reservations where project_id = ${key.project_id} and id = ${key.reservation_id} for update`

type Back = Pick<ReservationRow, 'count' | 'overage' | 'paid'>

export const takeFromReservation = (tx: Transaction, row: ReservationRow, { count, overage, paid }: Back) => tx.run`
  update usage_reservations set count = count - ${count}, overage = overage - ${overage}, paid = paid - ${paid}
  where project_id = ${row.project_id} and id = ${row.id}`

/** A send is over after three months, whatever it was. */
export const pruneReservations = (db: Queryable, now: Date) => db.run`
  delete from usage_reservations where (project_id, id) in (
    select project_id, id from usage_reservations where created_at < ${now}::timestamptz - interval '90 days' limit 5000)`

import type { ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import type { PeriodRow, Terms } from './usage.ts'

export const findTerms = (db: Queryable, project_id: ProjectId) => db.first<Terms>`
  select plan, overage_enabled, overage_cap_mills from projects where id = ${project_id}`

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
    billed_at: null,
  }

/** The month's row, held until the transaction ends: whoever books next waits, and sees what was booked. */
export async function lockPeriod(tx: Transaction, key: PeriodKey): Promise<PeriodRow> {
  const look = () => tx.first<PeriodRow>`
    select * from usage_periods where project_id = ${key.project_id} and period_start = ${key.period_start} for update`
  const known = await look()
  if (known) return known
  await tx.run`insert into usage_periods (project_id, period_start) values (${key.project_id}, ${key.period_start}) on conflict do nothing`
  return (await look()) as PeriodRow // made just now, by us or by whoever was faster
}

export const addToPeriod = (tx: Transaction, key: PeriodKey, { used, overage, paid }: Pick<PeriodRow, 'used' | 'overage' | 'paid'>) =>
  tx.run`
    update usage_periods set used = used + ${used}, overage = overage + ${overage}, paid = paid + ${paid}
    where project_id = ${key.project_id} and period_start = ${key.period_start}`

export interface ReservationRow extends PeriodKey {
  id: string
  count: number
  overage: number
  paid: number
}

export const insertReservation = (tx: Transaction, row: ReservationRow) => tx.run`
  insert into usage_reservations (project_id, id, period_start, count, overage, paid, created_at)
  values (${row.project_id}, ${row.id}, ${row.period_start}, ${row.count}, ${row.overage}, ${row.paid}, ${tx.now})`

export const lockReservation = (tx: Transaction, key: { project_id: ProjectId; reservation_id: string }) => tx.first<ReservationRow>`
  select * from usage_reservations where project_id = ${key.project_id} and id = ${key.reservation_id} for update`

export const takeFromReservation = (tx: Transaction, row: ReservationRow, { count, overage }: { count: number; overage: number }) => tx.run`
  update usage_reservations set count = count - ${count}, overage = overage - ${overage}
  where project_id = ${row.project_id} and id = ${row.id}`

/** A send is over after three months, whatever it was. */
export const pruneReservations = (db: Queryable, now: Date) => db.run`
  delete from usage_reservations where (project_id, id) in (
    select project_id, id from usage_reservations where created_at < ${now}::timestamptz - interval '90 days' limit 5000)`

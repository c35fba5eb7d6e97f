import type { ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { type PeriodRow, periodStart, planNamed, type Standing, standingOf, type Terms } from './usage.ts'
import { addToPeriod, findPeriod, findTerms, insertReservation, lockPeriod, lockReservation, takeFromReservation } from './usage-queries.ts'

export interface Booking {
  project_id: ProjectId
  /** Made by the caller, so that what is sent can name it before it is booked. */
  reservation_id: string
  count: number
  /** E-mails that were paid for with this request. */
  paidFor?: number
}

export type Reserved = { outcome: 'reserved'; reservation_id: string } | Exclude<Standing, { outcome: 'fits' }>

/**
 * Books e-mails in this month: all of them, or none. The month's row is held until the transaction ends, so two sends that race for
 * the last hundred take turns, and the second sees what the first has left.
 */
export async function reserveEmails({ config }: Pick<Services, 'config'>, tx: Transaction, booking: Booking): Promise<Reserved> {
  const { project_id, reservation_id, count, paidFor = 0 } = booking
  const key = { project_id, period_start: periodStart(tx.now) }
  const period = await lockPeriod(tx, key)
  const terms = await termsOf({ config }, tx, project_id)
  const standing = standingOf({ plan: planNamed(config, terms.plan), terms, period: withPaid(period, paidFor), count })
  if (standing.outcome !== 'fits') return standing
  const { overage } = standing
  await addToPeriod(tx, key, { used: count, overage, paid: paidFor })
  await insertReservation(tx, { ...key, id: reservation_id, count, overage, paid: paidFor })
  return { outcome: 'reserved', reservation_id }
}

const withPaid = (period: PeriodRow, paidFor: number): PeriodRow => ({ ...period, paid: period.paid + paidFor })

/** Where nothing can be charged, nothing can be sent on account. */
async function termsOf({ config }: Pick<Services, 'config'>, db: Queryable, project_id: ProjectId): Promise<Terms> {
  const terms = await findTerms(db, project_id)
  if (!terms) throw new Error('a project without a row')
  return config.PAYMENTS === 'off' ? { ...terms, overage_enabled: false } : terms
}

/** How things stand just now, without booking anything; the next moment may be different. */
export async function lookAhead(
  { config, database, clock }: Pick<Services, 'config' | 'database' | 'clock'>,
  { project_id, count }: { project_id: ProjectId; count: number },
): Promise<Standing> {
  const period = await findPeriod(database, { project_id, period_start: periodStart(clock.now()) })
  const terms = await termsOf({ config }, database, project_id)
  return standingOf({ plan: planNamed(config, terms.plan), terms, period, count })
}

/** E-mails that were paid for and not sent, such as when the send failed afterwards: they stay as an allowance of this month. */
export async function creditEmails(tx: Transaction, project_id: ProjectId, count: number): Promise<void> {
  const key = { project_id, period_start: periodStart(tx.now) }
  await lockPeriod(tx, key)
  await addToPeriod(tx, key, { used: 0, overage: 0, paid: count })
}

/**
 * Gives back what a send did not use, to the month it came from; overage first, as long as it has not been billed. What was paid for
 * stays paid, so it becomes room for other e-mails.
 */
export async function releaseEmails(
  tx: Transaction,
  { project_id, reservation_id, count }: { project_id: ProjectId; reservation_id: string; count: number },
): Promise<void> {
  const reservation = await lockReservation(tx, { project_id, reservation_id })
  if (!reservation) return
  const key = { project_id, period_start: reservation.period_start }
  const { billed_at } = await lockPeriod(tx, key)
  const back = Math.min(count, reservation.count)
  const overage = billed_at === null ? Math.min(back, reservation.overage) : 0
  await takeFromReservation(tx, reservation, { count: back, overage })
  await addToPeriod(tx, key, { used: -back, overage: -overage, paid: 0 })
}

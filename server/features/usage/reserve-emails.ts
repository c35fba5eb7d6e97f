import type { Config } from '../../base/config.ts'
import { type MailboxId, newId, type ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import type { Fragment } from '../../database/sql.ts'
import type { Services } from '../../operations/context.ts'
import { freeUseElsewhere, termsOf } from './terms.ts'
import { otherPlans, type PeriodRow, periodStart, planNamed, type Standing, standingOf } from './usage.ts'
import {
  addToPeriod,
  bookedWithinPlan,
  findPeriod,
  insertReservation,
  lockFreePlan,
  lockPeriod,
  lockReservation,
  type PlanLimit,
  sumOwnUse,
  takeFromReservation,
} from './usage-queries.ts'

/** Whose allowance: the project's, or within it that of an agent without the scope to send, which is counted by its mailbox. */
export interface Allowance {
  project_id: ProjectId
  mailbox_id: MailboxId | null
}

export interface Booking extends Allowance {
  /** Made by the caller, so that what is sent can name it before it is booked. */
  reservation_id: string
  count: number
  /** E-mails that were paid for with this request. */
  paidFor?: number
}

export type Reserved = { outcome: 'reserved'; reservation_id: string } | Exclude<Standing, { outcome: 'fits' }>

/**
 * Books e-mails in this month: all of them, or none. The month's row is held until the transaction ends, so two sends that race for
 * the last hundred take turns, and the second sees what the first has left. So do projects that share a free plan.
 */
export async function reserveEmails({ config }: Pick<Services, 'config'>, tx: Transaction, booking: Booking): Promise<Reserved> {
  const { project_id, mailbox_id, reservation_id, count, paidFor = 0 } = booking
  const key = { project_id, period_start: periodStart(tx.now) }
  if (mailbox_id === null && paidFor === 0 && (await fitsOwnPlan({ config }, tx, booking))) return { outcome: 'reserved', reservation_id }
  await lockFreePlan(tx, key, otherPlans(config))
  const period = await lockPeriod(tx, key)
  const standing = await lookAt({ config }, tx, { period, mailbox_id, count, paidFor })
  if (standing.outcome !== 'fits') return standing
  const { overage, paid } = standing
  await addToPeriod(tx, key, { used: count, overage, paid: paidFor, paid_used: paid })
  await insertReservation(tx, { ...key, id: reservation_id, mailbox_id, count, overage, paid, paid_for: paidFor })
  return { outcome: 'reserved', reservation_id }
}

interface Plain {
  project_id: ProjectId
  bookings: { reservation_id: string; count: number }[]
}

/**
 * The usual case: a plan that is shared with no other project, and has room. Goes at the head of a statement: `counted` has a row when
 * all of these are booked. When it has none, nothing is, and each has to take the long way round (`reserveEmails`).
 */
export const reservedWithinPlan = ({ config }: Pick<Services, 'config'>, tx: Transaction, { project_id, bookings }: Plain): Fragment =>
  bookedWithinPlan(tx, { project_id, period_start: periodStart(tx.now), bookings }, limitsOf(config))

const fitsOwnPlan = async (services: Pick<Services, 'config'>, tx: Transaction, { project_id, reservation_id, count }: Booking) =>
  (await tx.first`
    with ${reservedWithinPlan(services, tx, { project_id, bookings: [{ reservation_id, count }] })} select 1 from counted`) !== null

/** Of the plans that are a project's alone. */
const limitsOf = (config: Pick<Config, 'PLANS'>): PlanLimit[] =>
  otherPlans(config).map((name) => ({ name, emails: planNamed(config, name).emails }))

interface Look {
  period: PeriodRow
  mailbox_id: MailboxId | null
  count: number
  paidFor: number
}

async function lookAt(
  { config }: Pick<Services, 'config'>,
  db: Queryable,
  { period, mailbox_id, count, paidFor }: Look,
): Promise<Standing> {
  const terms = await termsOf({ config }, db, period.project_id)
  const elsewhere = await freeUseElsewhere({ config }, db, { terms, period })
  const question = { plan: planNamed(config, terms.plan), terms, period, elsewhere, count, paidFor }
  if (mailbox_id === null) return standingOf(question)
  return standingOf({ ...question, own: { free: planNamed(config, 'free'), use: await sumOwnUse(db, { ...period, mailbox_id }) } })
}

/** How things stand just now, without booking anything; the next moment may be different. */
export async function lookAhead(
  { config, database, clock }: Pick<Services, 'config' | 'database' | 'clock'>,
  { project_id, mailbox_id, count }: Allowance & { count: number },
): Promise<Standing> {
  const period = await findPeriod(database, { project_id, period_start: periodStart(clock.now()) })
  return lookAt({ config }, database, { period, mailbox_id, count, paidFor: 0 })
}

/** E-mails that were paid for and not sent, such as when the send failed afterwards: they stay as an allowance of this month. */
export async function creditEmails(tx: Transaction, { project_id, mailbox_id }: Allowance, count: number): Promise<void> {
  const key = { project_id, period_start: periodStart(tx.now) }
  await lockPeriod(tx, key)
  await addToPeriod(tx, key, { paid: count })
  await insertReservation(tx, { ...key, id: newId(), mailbox_id, count: 0, overage: 0, paid: 0, paid_for: count })
}

interface Correction {
  project_id: ProjectId
  reservation_id: string
  count: number
}

/** What a send has booked and the month of that, held in this order. Null when the booking is gone. */
async function holdBooking(tx: Transaction, { project_id, reservation_id }: Correction) {
  const reservation = await lockReservation(tx, { project_id, reservation_id })
  if (!reservation) return null
  const key = { project_id, period_start: reservation.period_start }
  return { reservation, key, period: await lockPeriod(tx, key) }
}

/**
 * Gives back what a send did not use, to the month it came from: overage first, as long as it is not being billed, then what was paid
 * for, which is there to be sent again, then the plan's.
 */
export async function releaseEmails(tx: Transaction, unused: Correction): Promise<void> {
  const booking = await holdBooking(tx, unused)
  if (!booking) return
  const { reservation, key, period } = booking
  const back = Math.min(unused.count, reservation.count)
  const overage = period.billed_at === null && period.invoice_id === null ? Math.min(back, reservation.overage) : 0
  const paid = Math.min(back - overage, reservation.paid)
  await takeFromReservation(tx, reservation, { count: back, overage, paid })
  await addToPeriod(tx, key, { used: -back, overage: -overage, paid_used: -paid })
}

/** What a send used beyond its booking, in the month of that: it has left, so it is counted; nobody agreed to it, so it costs nothing. */
export async function countUnbooked(tx: Transaction, extra: Correction): Promise<void> {
  const booking = await holdBooking(tx, extra)
  if (!booking) return
  await takeFromReservation(tx, booking.reservation, { count: -extra.count, overage: 0, paid: 0 })
  await addToPeriod(tx, booking.key, { used: extra.count })
}

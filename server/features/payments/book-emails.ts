import { newId } from '../../base/ids.ts'
import { priceOf } from '../../base/plans.ts'
import type { Transaction } from '../../database/database.ts'
import type { Context } from '../../operations/context.ts'
import { type Allowance, creditEmails, lookAhead, type Reserved, reserveEmails } from '../usage/index.ts'
import { type Charged, charge } from './charge.ts'
import { ownMailboxOf } from './own-mailbox.ts'
import { type ChallengeRow, formatReceipt, type Purchase } from './payment.ts'
import { type Lack, paymentError, unclearPayment } from './payment-error.ts'
import { claimChallenge, closeChallenge, markPaid } from './payment-queries.ts'
import { type BadCredential, type GoodCredential, verifyCredential } from './verify-credential.ts'

type Work<Result> = (tx: Transaction, reservation_id: string) => Promise<Result>
interface Booked<Result> {
  result: Result
  /** The Payment-Receipt, encoded. */
  receipt: string | null
}

/**
 * Books `count` e-mails for this request — from the plan, from overage, or against the payment that came with it — and runs `work` in
 * the same transaction. `work` may be run, rolled back and run again: before a card is charged it is known that nothing else is in the
 * way, and nothing is charged when there is room after all.
 */
export async function bookEmails<Result>(context: Context, purchase: Purchase, work: Work<Result>): Promise<Booked<Result>> {
  const { payment, isPayer = false } = context.request
  const credential = payment === null || context.config.PAYMENTS === 'off' ? null : await verifyCredential(context, purchase, payment)
  const good = credential && 'challenge' in credential ? credential : null
  // Who is known by the credential alone may do nothing that it is not good for.
  if (isPayer && !good) throw await refusalOf(context, purchase, null, credential as BadCredential | null)
  if (good?.challenge.status === 'charging') return redeem(context, purchase, good, work)
  try {
    const result = await book(context, purchase, work, { unneeded: good?.challenge ?? null })
    return { result, receipt: null }
  } catch (error) {
    if (error instanceof Spent) throw await refusalOf(context, purchase, null, usedUp)
    if (!(error instanceof NoRoom)) throw error
    if (!good) throw await refusalOf(context, purchase, error.lack, credential as BadCredential | null)
    if (priceOf(error.lack.excess) > good.challenge.amount_cents) throw await refusalOf(context, purchase, error.lack, tooLittle)
    return redeem(context, purchase, good, work, error.lack)
  }
}

/** The plan of the project decides, and nothing else: no payment came along, and no agent has an allowance of its own. */
export const isForPlanAlone = ({ request, caller }: Context): boolean =>
  request.payment === null && !request.isPayer && ownMailboxOf(caller) === null

const usedUp: BadCredential = { problem: 'invalid-challenge', detail: 'This challenge has been used already.' }
const tooLittle: BadCredential = { problem: 'payment-insufficient', detail: 'More is due now than this challenge was for.' }

const allowanceOf = ({ caller }: Context): Allowance => ({ project_id: caller.project_id, mailbox_id: ownMailboxOf(caller) })

/** `lack` is null when nobody has looked yet; by now there may be room, and then the credential is all that was wrong. */
async function refusalOf(context: Context, purchase: Purchase, lack: Lack | null, bad: BadCredential | null): Promise<Error> {
  const standing = lack ?? (await lookAhead(context, { ...allowanceOf(context), count: purchase.count }))
  const found = standing.outcome === 'fits' ? { outcome: 'limit_exceeded' as const, excess: 0 } : standing
  return paymentError(context, purchase, { lack: found, ...(bad ?? { problem: 'payment-required' as const }) })
}

/** Rolls back what was begun. */
class NoRoom extends Error {
  readonly lack: Lack
  constructor(lack: Lack) {
    super(lack.outcome)
    this.lack = lack
  }
}
class Spent extends Error {}

interface Basis {
  /** An open challenge that came along and is not needed: it is used up with the booking, like any other. */
  unneeded?: ChallengeRow | null
  paid?: { challenge: ChallengeRow; reference: string }
}

/** The work comes first and the month's row last: it is the one that all sends of a project wait for, and held only for the end. */
function book<Result>(context: Context, { count }: Purchase, work: Work<Result>, { unneeded, paid }: Basis): Promise<Result> {
  return context.database.transaction(async (tx) => {
    const reservation_id = newId()
    const result = await work(tx, reservation_id)
    const booking = { ...allowanceOf(context), reservation_id, count }
    const reserved = paid ? await reservePaid(context, tx, booking, paid.challenge) : await reserveEmails(context, tx, booking)
    if (reserved.outcome !== 'reserved') throw new NoRoom(reserved)
    if (paid && !(await markPaid(tx, paid.challenge, paid.reference))) throw new Spent()
    if (unneeded && !(await closeChallenge(tx, unneeded, { from: 'open', at: tx.now }))) throw new Spent()
    return result
  })
}

/** If a little less room is left than when the price was made, and the price is the same, the payment covers that too. */
async function reservePaid(
  context: Context,
  tx: Transaction,
  booking: Parameters<typeof reserveEmails>[2],
  { emails, amount_cents }: ChallengeRow,
): Promise<Reserved> {
  const reserved = await reserveEmails(context, tx, { ...booking, paidFor: emails })
  if (reserved.outcome === 'reserved' || priceOf(emails + reserved.excess) > amount_cents) return reserved
  return reserveEmails(context, tx, { ...booking, paidFor: emails + reserved.excess })
}

/** Claim, commit; charge; book, commit. */
async function redeem<Result>(
  context: Context,
  purchase: Purchase,
  credential: GoodCredential,
  work: Work<Result>,
  lack: Lack | null = null,
): Promise<Booked<Result>> {
  const { challenge, token_hash, externalId } = credential
  if (!(await claimChallenge(context.database, challenge, token_hash))) throw await refusalOf(context, purchase, lack, usedUp)
  const charged = await charge(context, credential)
  if (charged.outcome !== 'paid') throw await failed(context, purchase, { challenge, charged, lack })
  const { reference } = charged
  try {
    const result = await book(context, purchase, work, { paid: { challenge, reference } })
    return { result, receipt: formatReceipt({ reference, timestamp: context.clock.now(), externalId }) }
  } catch (error) {
    if (error instanceof Spent) throw await refusalOf(context, purchase, lack, usedUp)
    await keepAsAllowance(context, challenge, reference)
    if (!(error instanceof NoRoom)) throw error
    throw await refusalOf(context, purchase, error.lack, kept(challenge))
  }
}

const kept = ({ emails }: ChallengeRow): BadCredential => ({
  problem: 'payment-insufficient',
  detail: `More is due now than this challenge was for. What you paid stays yours: ${emails} more may be sent this month.`,
})

/** The money was taken and nothing was sent for it: the e-mails that it pays for may be sent later this month. */
export const keepAsAllowance = ({ database }: Pick<Context, 'database'>, challenge: ChallengeRow, reference: string): Promise<void> =>
  database.transaction(async (tx) => {
    if (await markPaid(tx, challenge, reference)) await creditEmails(tx, challenge, challenge.emails)
  })

interface Failure {
  challenge: ChallengeRow
  charged: Exclude<Charged, { outcome: 'paid' }>
  lack: Lack | null
}

async function failed(context: Context, purchase: Purchase, { challenge, charged, lack }: Failure): Promise<Error> {
  if (charged.outcome === 'unknown') return unclearPayment()
  await closeChallenge(context.database, challenge, { from: 'charging', at: context.clock.now() })
  if (charged.outcome === 'action_required')
    return refusalOf(context, purchase, lack, {
      problem: 'payment-action-required',
      detail: 'The card’s owner has to approve this payment, which cannot be done here. Use another token.',
    })
  return refusalOf(context, purchase, lack, {
    problem: 'verification-failed',
    detail: `The payment was declined (${charged.reason}). Use another token.`,
  })
}

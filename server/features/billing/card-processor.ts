import type { ProjectId } from '../../base/ids.ts'
import type { Services } from '../../operations/context.ts'
import type { AccountRow, Subscription } from './billing.ts'
import { sandbox } from './sandbox.ts'
import { stripe } from './stripe.ts'

/** A subscription that is being made. `is_resumed`: how an earlier try of the same attempt ended, nobody knows. */
export type Attempt = AccountRow & { attempt: string; is_resumed: boolean }

export interface Wish {
  account: Attempt
  plan: string
  stripe_price: string | null
  payment_method_id: string
  email: string | null
}

type NotDone = { outcome: 'declined'; reason: string } | { outcome: 'unknown' }
export type Enrolled = { outcome: 'enrolled'; customer_id: string } | NotDone
export type Wished = { outcome: 'subscribed'; subscription: Subscription } | NotDone

export interface OverageBill {
  project_id: ProjectId
  customer_id: string | null
  /** The end of the month: no invoice for it is older. */
  since: Date
  /** `2026-11`. */
  month: string
  emails: number
  amount_cents: number
}

/** Everything that takes a subscription's money. Asked twice under the same name, it does it once. */
export interface CardProcessor {
  /** Makes the project a customer with this card. It is kept before anything is sold to it, so that what was sold can be found again. */
  enrol(services: Services, wish: Wish): Promise<Enrolled>
  /** Makes the subscription, or moves the one there is to this plan and card. */
  subscribe(services: Services, wish: Wish, customer_id: string): Promise<Wished>
  /** Lets it run out. Null: nobody knows whether it will. */
  cancel(services: Services, account: AccountRow): Promise<Subscription | null>
  /** How it stands today; `gone` when it has ended. Null: could not be found out. */
  look(services: Services, account: AccountRow): Promise<Subscription | 'gone' | null>
  /** Ends it at once. False: could not. */
  end(services: Services, account: AccountRow): Promise<boolean>
  /** The empty invoice for a month's overage, the same however often it is asked for. Null: could not be made now. */
  openInvoice(services: Services, bill: OverageBill): Promise<string | null>
  /** Puts the overage on it and sends it off. False: could not, or nobody knows; to be called again. */
  sendInvoice(services: Services, bill: OverageBill, invoice_id: string): Promise<boolean>
  /** What became of it. Unpaid: the card was tried and did not pay. Null: could not be found out. */
  lookAtInvoice(services: Services, invoice_id: string): Promise<'open' | 'paid' | 'unpaid' | null>
}

/** Null where nothing is sold. */
export const cardProcessorOf = ({ config }: Pick<Services, 'config'>): CardProcessor | null =>
  config.PAYMENTS === 'off' ? null : config.PAYMENTS === 'sandbox' ? sandbox : stripe

import type { ProjectId } from '../../base/ids.ts'
import type { Services } from '../../operations/context.ts'
import type { AccountRow, Subscription } from './billing.ts'
import { sandbox } from './sandbox.ts'
import { stripe } from './stripe.ts'

export interface Wish {
  account: AccountRow & { attempt: string }
  plan: string
  stripe_price: string | null
  payment_method_id: string
  email: string | null
}

export type Wished =
  | { outcome: 'subscribed'; customer_id: string; subscription: Subscription }
  | { outcome: 'declined'; customer_id: string | null; reason: string }
  | { outcome: 'unknown' }

export interface OverageBill {
  project_id: ProjectId
  customer_id: string | null
  /** `2026-11`. */
  month: string
  emails: number
  amount_cents: number
}

/** Everything that takes a subscription's money. Asked twice under the same name, it does it once. */
export interface CardProcessor {
  /** Makes the subscription, or moves the one there is to this plan and card. */
  subscribe(services: Services, wish: Wish): Promise<Wished>
  /** Lets it run out. Null: nobody knows whether it will. */
  cancel(services: Services, account: AccountRow): Promise<Subscription | null>
  /** How it stands today; `gone` when it has ended. Null: could not be found out. */
  look(services: Services, account: AccountRow): Promise<Subscription | 'gone' | null>
  /** Ends it at once. False: could not. */
  end(services: Services, account: AccountRow): Promise<boolean>
  billOverage(services: Services, bill: OverageBill): Promise<boolean>
}

/** Null where nothing is sold. */
export const cardProcessorOf = ({ config }: Pick<Services, 'config'>): CardProcessor | null =>
  config.PAYMENTS === 'off' ? null : config.PAYMENTS === 'sandbox' ? sandbox : stripe

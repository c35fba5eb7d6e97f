import type { ListId, SubscriberId } from '../../base/ids.ts'
import type { ListRow } from '../lists/index.ts'
import type { SubscriberRow, SubscriberStatus } from '../subscribers/subscriber.ts'

/** What somebody sees and changes behind a link in their mail: the lists of one sender that know their address. */
export interface Preferences {
  /** The list and the subscription that the link is from. */
  list: ListRow
  subscriber: SubscriberRow & { email: string; email_key: string }
  subscriptions: Subscription[]
  /** Nothing can be sent to them: they complained, or their mailbox is gone. */
  is_suppressed: boolean
}

export interface Subscription {
  list_id: ListId
  subscriber_id: SubscriberId
  name: string
  type: ListRow['type']
  status: SubscriberStatus
  subscribed_at: Date | null
  unsubscribed_at: Date | null
  paused_until: Date | null
}

/**
 * Whether ticking a list brings somebody onto it. Whose mail bounced has no mailbox behind the address: that is not for a form to mend. Who has
 * left a waitlist joins once more, where it is said whether there is room.
 */
export const canReturnTo = ({ type, status }: Pick<Subscription, 'type' | 'status'>): boolean =>
  status === 'pending' || (status === 'unsubscribed' && type !== 'waitlist')

/** For so many days mail can be paused. */
export const pauseDays = [7, 30, 90] as const

/** Until when the mail of all lists is paused; null when it is not. */
export function pausedUntil({ subscriptions }: Pick<Preferences, 'subscriptions'>, now: Date): Date | null {
  const ends = subscriptions.flatMap(({ status, paused_until }) => (status === 'active' && paused_until ? [paused_until] : []))
  return ends.filter((end) => end > now).sort((a, b) => a.getTime() - b.getTime())[0] ?? null
}

import type { Services } from '../../operations/context.ts'
import { findList, type ListRow } from '../lists/index.ts'
import { findSubscriber, unsubscribe } from '../subscribers/index.ts'
import type { SubscriberRow } from '../subscribers/subscriber.ts'
import { findLine, type Standing, standingsOf } from '../waiting-lines/index.ts'
import { acceptUrl, findKeyIn, referralUrl, statusUrl } from './waitlist-token.ts'

type Needs = Pick<Services, 'config' | 'database' | 'secrets'>

export interface WaitlistView {
  list: ListRow
  subscriber: SubscriberRow
  /** Null for who is not on the waitlist any more. */
  standing: (Standing & { referral_url: string; status_url: string; accept_url: string; of: number }) | null
}

/** What somebody sees of their own place. */
export async function viewOf(services: Needs, list: ListRow, subscriber: SubscriberRow): Promise<WaitlistView> {
  const { database } = services
  const [[standing], line] = await Promise.all([standingsOf(database, subscriber, [subscriber.id]), findLine(database, subscriber)])
  if (!standing || list.type !== 'waitlist') return { list, subscriber, standing: null }
  const links = {
    referral_url: referralUrl(services, list, standing.referral_code),
    status_url: statusUrl(services, subscriber),
    accept_url: acceptUrl(services, subscriber),
  }
  // Whoever types in an address must not see by a number that it was not on the list: only who has confirmed is counted.
  const of = Math.max(standing.position ?? 0, line?.confirmed ?? 0)
  return { list, subscriber, standing: { ...standing, ...links, of } }
}

/** Whom a status link is about; null when it is forged, or list or person are gone. */
export async function findWaitlistView(services: Needs, token: string): Promise<WaitlistView | null> {
  const key = await findKeyIn(services, services.database, { purpose: 'waitlist', token })
  if (!key) return null
  const [list, subscriber] = await Promise.all([findList(services.database, key), findSubscriber(services.database, key)])
  return list && subscriber ? viewOf(services, list, subscriber) : null
}

/** Takes them off the list; done before, nothing changes. */
export const leaveWaitlist = (services: Needs, token: string): Promise<void> =>
  services.database.transaction(async (tx) => {
    const key = await findKeyIn(services, tx, { purpose: 'waitlist', token })
    if (key) await unsubscribe(tx, key)
  })

import type { Queryable } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { findList } from '../lists/index.ts'
import { findSubscriber, readSubscriberToken, type SubscriberKey, subscriberToken } from '../subscribers/index.ts'
import type { SubscriberRow } from '../subscribers/subscriber.ts'
import { findSuppression } from '../suppressions/index.ts'
import type { Preferences } from './preferences.ts'
import { subscriptionsOf } from './preferences-queries.ts'

type Needs = Pick<Services, 'config' | 'secrets'>

/** Whoever has the link reads their mail. It does not end: people keep mail for years. */
export const preferencesUrl = (services: Needs, subscriber: SubscriberRow): string =>
  `${services.config.PUBLIC_URL}/preferences/${subscriberToken(services, 'preferences', subscriber)}`

/** Null when the link is forged, or the list or the person is gone. */
export async function findPreferences(services: Pick<Services, 'secrets' | 'database'>, token: string): Promise<Preferences | null> {
  const read = await readSubscriberToken(services, services.database, { purpose: 'preferences', token })
  return read && preferencesOf(services.database, read.key)
}

export async function preferencesOf(db: Queryable, key: SubscriberKey): Promise<Preferences | null> {
  const [list, subscriber] = [await findList(db, key), await findSubscriber(db, key)]
  if (!list || !subscriber || !hasAddress(subscriber)) return null
  const [subscriptions, suppression] = [
    await subscriptionsOf(db, subscriber),
    await findSuppression(db, key.project_id, subscriber.email_key),
  ]
  return { list, subscriber, subscriptions, is_suppressed: suppression !== null }
}

const hasAddress = (subscriber: SubscriberRow): subscriber is Preferences['subscriber'] =>
  subscriber.email !== null && subscriber.email_key !== null

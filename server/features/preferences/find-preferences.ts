import type { Queryable } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { findList } from '../lists/index.ts'
import { findSubscriber, isOfAddress, readSubscriberToken, type SubscriberKey } from '../subscribers/index.ts'
import type { SubscriberRow } from '../subscribers/subscriber.ts'
import { findSuppression } from '../suppressions/index.ts'
import type { Preferences } from './preferences.ts'
import { subscriptionsOf } from './preferences-queries.ts'

export const findPreferences = (services: Pick<Services, 'secrets' | 'database'>, token: string): Promise<Preferences | null> =>
  preferencesBehind(services, services.database, token)

/** Null when the link is forged, the list or the person is gone, or they have another address by now. */
export async function preferencesBehind(services: Pick<Services, 'secrets'>, db: Queryable, token: string): Promise<Preferences | null> {
  const read = await readSubscriberToken(services, db, { purpose: 'preferences', token })
  const preferences = read && (await preferencesOf(db, read.key))
  return preferences && isOfAddress(read, preferences.subscriber) ? preferences : null
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

import type { Transaction } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { findList } from '../lists/index.ts'
import { askAgain, countAttempt, lockSubscriber, makeActive, type SubscriberKey, unsubscribe } from '../subscribers/index.ts'
import { canUndoLeaving } from '../subscribers/subscriber.ts'
import { preferencesBehind, preferencesOf } from './find-preferences.ts'
import { canReturnTo, type Preferences, pauseDays, type Subscription } from './preferences.ts'
import { savePause } from './preferences-queries.ts'

type Needs = Pick<Services, 'config' | 'secrets' | 'database'>

/** Each is a mail. */
const askedPerHour = 10

export interface Wishes {
  /** What the form showed: of other lists it says nothing. */
  shown: ReadonlySet<string>
  wanted: ReadonlySet<string>
}

export interface Changed {
  preferences: Preferences
  /** Of some list their mailbox is asked first. */
  isAsked: boolean
}

/** Takes somebody off the lists of one sender and puts them back on, as they ticked them. Null when the link is nobody's. */
export async function changeSubscriptions(services: Needs, token: string, { shown, wanted }: Wishes): Promise<Changed | null> {
  // First, and by itself: leaving is never refused because coming back is.
  await withPreferences(services, token, async (tx, { subscriber: { project_id }, subscriptions }) => {
    for (const { list_id, subscriber_id, status } of subscriptions)
      if (shown.has(list_id) && !wanted.has(list_id) && status === 'active') await unsubscribe(tx, { project_id, list_id, subscriber_id })
  })
  let isAsked = false
  const preferences = await withPreferences(services, token, async (tx, { subscriber, subscriptions, is_suppressed }) => {
    const { project_id, contact_id } = subscriber
    const isReturning = (one: Subscription) => shown.has(one.list_id) && wanted.has(one.list_id) && canReturnTo(one)
    const returning = is_suppressed ? [] : subscriptions.filter(isReturning)
    const asked = returning.filter((one) => !canUndoLeaving(one, tx.now))
    const from = services.secrets.mac('waitlist_peer', `contact:${contact_id}`)
    for (const { list_id } of asked)
      await countAttempt(services, tx, { list: { project_id, id: list_id }, from, asks_for_mail: true, limit: askedPerHour })
    for (const { list_id, subscriber_id } of returning) await subscribeAgain(services, tx, { project_id, list_id, subscriber_id })
    isAsked = asked.length > 0
  })
  return preferences && { preferences, isAsked }
}

/**
 * Who has just left is back at once. Later, and who never confirmed, is asked by mail: the link to the preferences is in mail that people pass
 * on, and nobody is to be put on a list with it.
 */
async function subscribeAgain(services: Needs, tx: Transaction, key: SubscriberKey): Promise<void> {
  const list = await findList(tx, key)
  const before = list && (await lockSubscriber(tx, key))
  if (!before || !canReturnTo({ type: list.type, status: before.status })) return
  if (canUndoLeaving(before, tx.now)) await makeActive(services, tx, { list, before })
  else await askAgain(services, tx, { list, subscriber: before, isCounted: true })
}

const dayMs = 24 * 3_600_000

/** From now on, on all lists of this sender; 0 ends it. Other numbers than those offered change nothing. */
export const pauseMail = (services: Needs, token: string, days: number): Promise<Preferences | null> =>
  withPreferences(services, token, async (tx, { subscriber }) => {
    if (days === 0) await savePause(tx, subscriber, null)
    else if ((pauseDays as readonly number[]).includes(days)) await savePause(tx, subscriber, new Date(tx.now.getTime() + days * dayMs))
  })

/** Answers how things are afterwards. */
const withPreferences = (
  services: Needs,
  token: string,
  change: (tx: Transaction, preferences: Preferences) => Promise<void>,
): Promise<Preferences | null> =>
  services.database.transaction(async (tx) => {
    const before = await preferencesBehind(services, tx, token)
    if (!before) return null
    await change(tx, before)
    return preferencesOf(tx, { ...before.subscriber, subscriber_id: before.subscriber.id })
  })

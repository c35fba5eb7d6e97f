import type { Transaction } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { findList } from '../lists/index.ts'
import { lockSubscriber, makeActive, readSubscriberToken, type SubscriberKey, unsubscribe } from '../subscribers/index.ts'
import { preferencesOf } from './find-preferences.ts'
import { canReturnTo, type Preferences, pauseDays } from './preferences.ts'
import { savePause } from './preferences-queries.ts'

type Needs = Pick<Services, 'secrets' | 'database'>

export interface Wishes {
  /** What the form showed: of other lists it says nothing. */
  shown: ReadonlySet<string>
  wanted: ReadonlySet<string>
}

/** Puts somebody on and takes them off the lists of one sender, as they ticked them. Null when the link is nobody's. */
export const changeSubscriptions = (services: Needs, token: string, { shown, wanted }: Wishes): Promise<Preferences | null> =>
  withPreferences(services, token, async (tx, { subscriber: { project_id }, subscriptions, is_suppressed }) => {
    for (const { list_id, subscriber_id, status } of subscriptions) {
      if (!shown.has(list_id)) continue
      const key = { project_id, list_id, subscriber_id }
      if (status === 'active' && !wanted.has(list_id)) await unsubscribe(tx, key)
      else if (wanted.has(list_id) && !is_suppressed) await subscribeAgain(services, tx, key)
    }
  })

async function subscribeAgain(services: Pick<Services, 'secrets'>, tx: Transaction, key: SubscriberKey): Promise<void> {
  const list = await findList(tx, key)
  const before = list && (await lockSubscriber(tx, key))
  if (before && canReturnTo({ type: list.type, status: before.status })) await makeActive(services, tx, { list, before })
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
    const read = await readSubscriberToken(services, tx, { purpose: 'preferences', token })
    const before = read && (await preferencesOf(tx, read.key))
    if (!before) return null
    await change(tx, before)
    return preferencesOf(tx, read.key)
  })

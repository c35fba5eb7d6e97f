import type { Queryable } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import type { Services } from '../../operations/context.ts'
import { findProjectNow } from '../agents/index.ts'
import { changeCounts, findList, type ListRow } from '../lists/index.ts'
import { confirmEntry } from '../waiting-lines/index.ts'
import { parseConfirmToken } from './confirm-token.ts'
import { type SubscriberRow, subscriberEventData } from './subscriber.ts'
import { findSubscriber, lockSubscriber, type SubscriberKey, saveSubscriber } from './subscriber-queries.ts'

interface Confirmation {
  list: ListRow
  subscriber: SubscriberRow
}

/** Whom a confirmation link is about; null when it is forged, or the list or the subscriber is gone. */
export async function findByConfirmToken(services: Services, token: string): Promise<Confirmation | null> {
  const key = await keyIn(services, services.database, token)
  if (!key) return null
  const [list, subscriber] = await Promise.all([findList(services.database, key), findSubscriber(services.database, key)])
  return list && subscriber ? { list, subscriber } : null
}

/** Confirms once; doing it again changes nothing. Somebody who has left since stays away. */
export async function confirmSubscriber(services: Services, token: string): Promise<Confirmation | null> {
  return services.database.transaction(async (tx) => {
    const key = await keyIn(services, tx, token)
    const list = key && (await findList(tx, key))
    const before = list && (await lockSubscriber(tx, key))
    if (!before) return null
    if (before.status !== 'pending') return { list, subscriber: before }
    const subscriber = (await saveSubscriber(tx, {
      ...before,
      status: 'active',
      subscribed_at: tx.now,
    })) as SubscriberRow
    await publish(tx, key.project_id, 'subscriber.confirmed', subscriberEventData(subscriber))
    await changeCounts(tx, key, { pending: -1, active: 1 })
    await confirmEntry(services, tx, { list, subscriber, isNew: before.subscribed_at === null })
    return { list, subscriber }
  })
}

/** The link may be older than a merge that took the list into another project. */
async function keyIn(services: Services, db: Queryable, token: string): Promise<SubscriberKey | null> {
  const key = parseConfirmToken(services, token)
  return key && { ...key, project_id: await findProjectNow(db, key.project_id) }
}

import type { Queryable } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { findList, type ListRow } from '../lists/index.ts'
import { makeActive } from './make-active.ts'
import type { SubscriberRow } from './subscriber.ts'
import { findSubscriber, lockSubscriber, type SubscriberKey } from './subscriber-queries.ts'
import { readSubscriberToken } from './subscriber-token.ts'

export interface Confirmation {
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
    return { list, subscriber: await makeActive(services, tx, { list, before }) }
  })
}

const keyIn = async (services: Services, db: Queryable, token: string): Promise<SubscriberKey | null> =>
  (await readSubscriberToken(services, db, { purpose: 'confirm', token }))?.key ?? null

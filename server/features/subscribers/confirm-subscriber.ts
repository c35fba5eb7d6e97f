import type { Queryable } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { nameContact } from '../contacts/index.ts'
import { findList, type ListRow } from '../lists/index.ts'
import { makeActive } from './make-active.ts'
import type { SubscriberRow } from './subscriber.ts'
import { findSubscriber, lockSubscriber } from './subscriber-queries.ts'
import { isOfAddress, readSubscriberToken, type SubscriberLink } from './subscriber-token.ts'

export interface Confirmation {
  list: ListRow
  subscriber: SubscriberRow
  /** False for links of older releases: they do not say which mailbox they went to, and it may be another by now. */
  isTheirs: boolean
}

/** Whom a confirmation link is about; null when it is forged, the list or the subscriber is gone, or has another address by now. */
export async function findByConfirmToken(services: Services, token: string): Promise<Confirmation | null> {
  const { database } = services
  const read = await readSubscriberToken(services, database, { purpose: 'confirm', token })
  return read && findBehind(database, read)
}

/** Confirms once; doing it again changes nothing. Somebody who has left since stays away. */
export async function confirmSubscriber(services: Services, token: string): Promise<Confirmation | null> {
  return services.database.transaction(async (tx) => {
    const read = await readSubscriberToken(services, tx, { purpose: 'confirm', token })
    if (!read) return null
    const found = await findBehind(tx, read)
    if (found?.subscriber.status !== 'pending') return found
    // What a stranger wrote in the form is theirs now; who had a name keeps it. Contacts are held before subscribers.
    await nameContact(tx, found.subscriber)
    const before = await lockSubscriber(tx, read.key)
    if (!before || !isOfAddress(read, before)) return null
    if (before.status !== 'pending') return { ...found, subscriber: before }
    return { ...found, subscriber: await makeActive(services, tx, { list: found.list, before }) }
  })
}

async function findBehind(db: Queryable, link: SubscriberLink): Promise<Confirmation | null> {
  const [list, subscriber] = [await findList(db, link.key), await findSubscriber(db, link.key)]
  return list && subscriber && isOfAddress(link, subscriber) ? { list, subscriber, isTheirs: link.mark !== null } : null
}

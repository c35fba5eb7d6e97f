import type { Transaction } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { findList, type ListRow } from '../lists/index.ts'
import { findSubscriber, lockSubscriber, type SubscriberKey } from '../subscribers/index.ts'
import { changeLine, findEntry, lockLine, type WaitlistStatus } from '../waiting-lines/index.ts'
import { setAccepted } from './waitlist-queries.ts'
import { findKeyIn } from './waitlist-token.ts'

type Needs = Pick<Services, 'database' | 'secrets'>

interface Invitation {
  list: ListRow
  /** Null for who has left. */
  status: WaitlistStatus | null
}

/** What an accept link is about; null when it is forged, or list or person are gone. */
export async function findInvitation(services: Needs, token: string): Promise<Invitation | null> {
  const { database } = services
  const key = await findKeyIn(services, database, { purpose: 'waitlist_accept', token })
  if (!key) return null
  const [list, subscriber, entry] = await Promise.all([findList(database, key), findSubscriber(database, key), findEntry(database, key)])
  if (!list || !subscriber) return null
  return { list, status: subscriber.status === 'active' ? (entry?.status ?? null) : null }
}

/** Accepts once; doing it again changes nothing. Who has left since stays away. */
export async function acceptInvitation(services: Needs, token: string): Promise<Invitation | null> {
  await services.database.transaction(async (tx) => {
    const key = await findKeyIn(services, tx, { purpose: 'waitlist_accept', token })
    if (!key || !(await findList(tx, key))) return
    const subscriber = await lockSubscriber(tx, key)
    if (subscriber?.status === 'active') await acceptEntry(tx, key)
  })
  return findInvitation(services, token)
}

export async function acceptEntry(tx: Transaction, key: SubscriberKey): Promise<void> {
  await lockLine(tx, key)
  if ((await setAccepted(tx, key)) === 1) await changeLine(tx, key, { accepted: 1 })
}

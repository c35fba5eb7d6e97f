import type { Services } from '../../operations/context.ts'
import { findList, type ListRow } from '../lists/index.ts'
import { findSubscriber, unsubscribe } from '../subscribers/index.ts'
import type { SubscriberStatus } from '../subscribers/subscriber.ts'
import { findRecipientKey, projectFinder } from './find-recipient.ts'
import type { RecipientKey } from './recipient.ts'
import { countUnsubscribed, findRecipient, lockRecipient } from './recipient-queries.ts'

export interface Leaving {
  /** Null when the list is gone: nothing more comes from it. */
  list: ListRow | null
  email: string
  /** Null when the subscriber was removed. */
  status: SubscriberStatus | null
}

/** Whom an unsubscribe link is for; null when it is forged, or so old that nothing is known of the mail any more. */
export async function findLeaving(services: Pick<Services, 'database' | 'secrets'>, token: string): Promise<Leaving | null> {
  const { database } = services
  const key = await findRecipientKey(services, { token, purpose: 'unsubscribe' }, projectFinder(database))
  const recipient = key && (await findRecipient(database, key))
  if (!recipient) return null
  const [list, subscriber] = await Promise.all([findList(database, recipient), findSubscriber(database, recipient)])
  return { list, email: recipient.email, status: subscriber?.status ?? null }
}

/** Does what the link promises, once; false when it is nobody's. */
export async function leaveList(services: Pick<Services, 'database' | 'secrets'>, token: string): Promise<boolean> {
  const key = await findRecipientKey(services, { token, purpose: 'unsubscribe' }, projectFinder(services.database))
  return key !== null && unsubscribeRecipient(services, key)
}

export const unsubscribeRecipient = ({ database }: Pick<Services, 'database'>, key: RecipientKey): Promise<boolean> =>
  database.transaction(async (tx) => {
    // Held before the subscriber, as by whoever writes down what people open.
    const recipient = await lockRecipient(tx, key)
    if (recipient && (await unsubscribe(tx, recipient))) await countUnsubscribed(tx, recipient)
    return recipient !== null
  })

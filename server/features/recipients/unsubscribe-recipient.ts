import { parseDeliveryToken } from '../../base/delivery-token.ts'
import { parseAddress } from '../../mail/address.ts'
import type { Services } from '../../operations/context.ts'
import { findList, type ListRow } from '../lists/index.ts'
import { erasedAddress } from '../personal-data/person.ts'
import { findSubscriber, lockSubscriber, makeActive, saveReason, unsubscribe } from '../subscribers/index.ts'
import { canUndoLeaving, type SubscriberRow } from '../subscribers/subscriber.ts'
import { findSuppression } from '../suppressions/index.ts'
import { findRecipientKey, projectFinder } from './find-recipient.ts'
import type { RecipientKey } from './recipient.ts'
import { countUnsubscribed, findRecipient, lockRecipient, mayBePruned } from './recipient-queries.ts'

export interface Leaving {
  /** Null when the list is gone: nothing more comes from it. */
  list: ListRow | null
  /** Where the mail went; null when they were erased since. */
  email: string | null
  /** Null when they were removed. */
  subscriber: SubscriberRow | null
  /** They have another address by now: whoever reads this mailbox can take them off the list, and learns nothing of the new one. */
  has_moved: boolean
}

/** The project is gone, or the list with all that went out on it. */
const gone: Leaving = { list: null, email: null, subscriber: null, has_moved: false }

/** Whom an unsubscribe link is for; null when it is forged, or so old that nothing is known of the mail any more. */
export async function findLeaving(services: Pick<Services, 'database' | 'secrets'>, token: string): Promise<Leaving | null> {
  const { database } = services
  const key = await findRecipientKey(services, { token, purpose: 'unsubscribe' }, projectFinder(database))
  const recipient = key && (await findRecipient(database, key))
  if (!recipient) return (await isGone(services, token, key)) ? gone : null
  const [list, subscriber] = await Promise.all([findList(database, recipient), findSubscriber(database, recipient)])
  const address = parseAddress(recipient.email)
  const has_moved = subscriber !== null && (!address.ok || address.value.key !== subscriber.email_key)
  return { list, email: recipient.email === erasedAddress ? null : recipient.email, subscriber, has_moved }
}

/**
 * The signature tells that the mail was ours. To refuse whoever asks to leave what is gone would look like a sender who does not let go
 * (RFC 8058); to say so of a ledger that was merely pruned, with its subscribers still there, would be untrue.
 */
async function isGone(
  { database, secrets }: Pick<Services, 'database' | 'secrets'>,
  token: string,
  key: RecipientKey | null,
): Promise<boolean> {
  if (parseDeliveryToken(secrets, 'unsubscribe', token)?.kind !== 'delivery') return false
  return !key || !(await mayBePruned(database, key))
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

export const canReturn = ({ list, subscriber }: Pick<Leaving, 'list' | 'subscriber'>, now: Date): boolean =>
  list !== null && subscriber !== null && canUndoLeaving(subscriber, now)

/** Takes back what `leaveList` did. Whoever may get no mail of this project stays away. */
export async function returnToList(services: Pick<Services, 'database' | 'secrets'>, token: string): Promise<void> {
  const key = await findRecipientKey(services, { token, purpose: 'unsubscribe' }, projectFinder(services.database))
  if (!key) return
  await services.database.transaction(async (tx) => {
    const recipient = await lockRecipient(tx, key)
    const [list, before] = recipient ? [await findList(tx, recipient), await lockSubscriber(tx, recipient)] : []
    if (!list || !before?.email_key || !canReturn({ list, subscriber: before }, tx.now)) return
    if (await findSuppression(tx, key.project_id, before.email_key)) return
    await makeActive(services, tx, { list, before })
  })
}

/** False when it is nobody's, or they are on the list. */
export async function giveReason(services: Pick<Services, 'database' | 'secrets'>, token: string, reason: string): Promise<boolean> {
  const key = await findRecipientKey(services, { token, purpose: 'unsubscribe' }, projectFinder(services.database))
  const recipient = key && (await findRecipient(services.database, key))
  if (!recipient) return false
  return services.database.transaction(async (tx) => (await saveReason(tx, recipient, reason)) > 0)
}

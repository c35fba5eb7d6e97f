import { invalid } from '../../base/errors.ts'
import type { Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import type { Services } from '../../operations/context.ts'
import { enrichContact, type KnownOfContact, meetByForm } from '../contacts/index.ts'
import { changeCounts, type ListRow } from '../lists/index.ts'
import { findSuppression } from '../suppressions/index.ts'
import { enterLine, hasEntry, type Newcomer } from '../waiting-lines/index.ts'
import { sendConfirmationMail } from './confirmation-mail.ts'
import { type SubscriberRow, subscriberEventData } from './subscriber.ts'
import { insertSubscriber, lockSubscriberByEmail, saveSubscriber } from './subscriber-queries.ts'

interface Addition {
  list: ListRow
  known: KnownOfContact
  /** The caller vouches for the consent: no confirmation is asked for. */
  verified: boolean
  source: 'api' | 'form' | 'agent' | 'join'
  /** A stranger asks, whose attempt was counted before (confirmation-budget.ts), and whose word of others counts for nothing. */
  isCounted?: boolean
  /** By whom and from where they came to a waitlist. */
  cameBy?: Pick<Newcomer, 'referred_by' | 'joined_from'>
}

export interface Added {
  subscriber: SubscriberRow
  /** False for who was on the list already, and is left as they are. */
  isNew: boolean
}

/**
 * Puts an address on a list. On it and active or pending: it is answered as it is, and nothing is sent twice. Unsubscribed or bounced
 * before: it must confirm again, whoever vouches. Two at once: one row, one mail. On a waitlist they stand at the end of the line.
 */
export async function addSubscriber(services: Pick<Services, 'config' | 'secrets'>, tx: Transaction, addition: Addition): Promise<Added> {
  const { list, known, verified, source, isCounted = false, cameBy } = addition
  const { project_id, id: list_id } = list
  const { address: email, key: email_key } = known.email
  await refuseSuppressed(tx, list, email_key)
  const contact = await (isCounted ? meetByForm : enrichContact)(tx, project_id, known)
  const inserted = await insertSubscriber(tx, {
    project_id,
    list_id,
    contact_id: contact.id,
    email,
    email_key,
    name: known.name ?? null,
    status: verified ? 'active' : 'pending',
    source: verified && source === 'api' ? 'verified_api' : source,
  })
  if (inserted) {
    await publish(tx, project_id, 'subscriber.created', subscriberEventData(inserted))
    if (inserted.status === 'pending') await sendConfirmationMail(services, tx, { list, subscriber: inserted, isCounted })
    await changeCounts(tx, { project_id, list_id }, { [inserted.status]: 1 })
    await standInLine(tx, list, inserted, cameBy)
    return { subscriber: inserted, isNew: true }
  }
  const existing = await lockSubscriberByEmail(tx, { project_id, list_id, email_key })
  if (!existing) return addSubscriber(services, tx, addition) // removed between our insert and our look
  const mayStay = existing.status === 'active' || existing.status === 'pending'
  if (mayStay && (list.type !== 'waitlist' || (await hasEntry(tx, existing, [existing.id])))) return { subscriber: existing, isNew: false }
  const asked = existing.status === 'active' ? existing : await askAgain(services, tx, { list, subscriber: existing, isCounted })
  await standInLine(tx, list, asked, cameBy)
  return { subscriber: asked, isNew: true }
}

async function standInLine(tx: Transaction, list: ListRow, { id, status }: SubscriberRow, cameBy: Addition['cameBy']): Promise<void> {
  if (list.type !== 'waitlist') return
  await enterLine(tx, { project_id: list.project_id, list_id: list.id }, [
    { ...cameBy, subscriber_id: id, is_confirmed: status === 'active' },
  ])
}

async function refuseSuppressed(tx: Transaction, list: ListRow, email_key: string): Promise<void> {
  const suppression = await findSuppression(tx, list.project_id, email_key)
  if (suppression)
    throw invalid('email', `is suppressed in this project (${suppression.reason}) and gets no mail; remove it from /suppressions first`)
}

/** Their mailbox is asked once more, and they are not on the list before it answers. They are locked. */
export async function askAgain(
  services: Pick<Services, 'config' | 'secrets'>,
  tx: Transaction,
  { list, subscriber: before, isCounted }: Parameters<typeof sendConfirmationMail>[2],
): Promise<SubscriberRow> {
  const subscriber = (await saveSubscriber(tx, { ...before, status: 'pending' })) as SubscriberRow
  await sendConfirmationMail(services, tx, { list, subscriber, isCounted })
  if (before.status !== 'pending')
    await changeCounts(tx, { project_id: list.project_id, list_id: list.id }, { [before.status]: -1, pending: 1 })
  return subscriber
}

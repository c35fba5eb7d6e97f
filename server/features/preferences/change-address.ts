import type { Queryable, Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import { parseAddress } from '../../mail/address.ts'
import type { Services } from '../../operations/context.ts'
import { type ContactRow, contactEventData } from '../contacts/contact.ts'
import { lockContact, lockContactByEmail } from '../contacts/index.ts'
import { findList, type ListRow } from '../lists/index.ts'
import {
  addSubscriber,
  findSubscriber,
  isOfAddress,
  lockSubscriberByEmail,
  makeActive,
  readSubscriberToken,
  unsubscribe,
} from '../subscribers/index.ts'
import type { SubscriberRow } from '../subscribers/subscriber.ts'
import { findSuppression } from '../suppressions/index.ts'
import { isFresh, timeByteCount } from './link-time.ts'
import { sendListMail } from './list-mail.ts'
import { moveAddress, subscriptionsOf } from './preferences-queries.ts'

type Needs = Pick<Services, 'config' | 'secrets' | 'database'>
export type Address = { address: string; key: string }

export interface AddressChange {
  list: ListRow
  subscriber: SubscriberRow
  to: Address
  /** `ended`: too old, or there was another change since. */
  state: 'open' | 'done' | 'ended'
}

export const findAddressChange = (services: Needs & Pick<Services, 'clock'>, token: string): Promise<AddressChange | null> =>
  readChange(services, services.database, { purpose: 'address_change', token, now: services.clock.now() })

interface Link {
  /** Of the mailbox that has the mail now, or of the new one, which is asked after it. */
  purpose: 'address_consent' | 'address_change'
  token: string
  now: Date
}

export async function readChange(services: Needs, db: Queryable, { purpose, token, now }: Link): Promise<AddressChange | null> {
  const read = await readSubscriberToken(services, db, { purpose, token })
  if (!read) return null
  const [list, subscriber] = [await findList(db, read.key), await findSubscriber(db, read.key)]
  const parsed = parseAddress(read.more.subarray(timeByteCount).toString())
  if (!list || !subscriber || !parsed.ok) return null
  const { address, key } = parsed.value
  const isOpen = subscriber.email_key !== null && isOfAddress(read, subscriber) && isFresh(read.more, now)
  const state = subscriber.email_key === key ? 'done' : isOpen ? 'open' : 'ended'
  return { list, subscriber, to: { address, key }, state }
}

const uniqueViolation = '23505'

/** Done once; again changes nothing. */
export async function changeAddress(services: Needs & Pick<Services, 'clock'>, token: string): Promise<AddressChange | null> {
  try {
    return await services.database.transaction((tx) => change(services, tx, token))
  } catch (error) {
    // Somebody joined with that address in this very moment: now there are two people, and the other way is taken.
    if ((error as { code?: string }).code !== uniqueViolation) throw error
    return services.database.transaction((tx) => change(services, tx, token))
  }
}

async function change(services: Needs, tx: Transaction, token: string): Promise<AddressChange | null> {
  const asked = await readChange(services, tx, { purpose: 'address_change', token, now: tx.now })
  if (asked?.state !== 'open') return asked
  const { list, subscriber, to } = asked
  const contact = await lockContact(tx, subscriber.project_id, subscriber.contact_id)
  if (!contact?.email || !contact.email_key || contact.email_key !== subscriber.email_key) return { ...asked, state: 'ended' }
  if (await findSuppression(tx, list.project_id, to.key)) return { ...asked, state: 'ended' }
  const isKnown = (await lockContactByEmail(tx, list.project_id, to.key)) !== null
  await (isKnown ? handOver(services, tx, { contact, to }) : move(tx, contact, to))
  await sendListMail(tx, list, {
    kind: 'address_changed',
    to: { address: contact.email, key: contact.email_key },
    subject: `${list.name} goes to another address from now on`,
    opening: `As you asked, ${list.name} goes to your other address from now on, and no more to this one.`,
    closing: 'If it was not you, subscribe once more with this address, and reply to this mail: somebody has had a mail of yours.',
  })
  return { ...asked, state: 'done' }
}

async function move(tx: Transaction, contact: ContactRow, to: Address): Promise<void> {
  await moveAddress(tx, contact, to)
  const moved = (await lockContact(tx, contact.project_id, contact.id)) as ContactRow // held above
  await publish(tx, contact.project_id, 'contact.updated', contactEventData(moved))
}

/** The address is a person's whom we know. Two people do not become one by a press: the lists go over, and the rest stays where it is. */
async function handOver(services: Needs, tx: Transaction, { contact, to }: { contact: ContactRow; to: Address }): Promise<void> {
  const { project_id } = contact
  for (const { list_id, subscriber_id, status } of await subscriptionsOf(tx, { project_id, contact_id: contact.id })) {
    const list = status === 'active' ? await findList(tx, { project_id, list_id }) : null
    if (!list) continue
    const before = await lockSubscriberByEmail(tx, { project_id, list_id, email_key: to.key })
    if (!before) await addSubscriber(services, tx, { list, known: { email: to }, verified: true, source: 'form', isCounted: true })
    else if (before.status !== 'active') await makeActive(services, tx, { list, before })
    await unsubscribe(tx, { project_id, list_id, subscriber_id })
  }
}

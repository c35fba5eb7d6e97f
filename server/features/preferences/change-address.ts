import { hashOfSecret } from '../../base/secrets.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import { parseAddress } from '../../mail/address.ts'
import { isDisposable } from '../../mail/disposable-domains.ts'
import type { Services } from '../../operations/context.ts'
import { type ContactRow, contactEventData } from '../contacts/contact.ts'
import { lockContact, lockContactByEmail } from '../contacts/index.ts'
import { findList, type ListRow } from '../lists/index.ts'
import {
  addSubscriber,
  countAttempt,
  findSubscriber,
  lockSubscriberByEmail,
  makeActive,
  readSubscriberToken,
  subscriberToken,
  unsubscribe,
} from '../subscribers/index.ts'
import type { SubscriberRow } from '../subscribers/subscriber.ts'
import { findSuppression } from '../suppressions/index.ts'
import { preferencesOf } from './find-preferences.ts'
import { isFresh, timeBytes } from './link-time.ts'
import { sendListMail } from './list-mail.ts'
import { moveAddress, subscriptionsOf } from './preferences-queries.ts'

type Needs = Pick<Services, 'config' | 'secrets' | 'database'>
type Address = { address: string; key: string }

/** Each is a mail to whoever has that address. */
const askedPerHour = 5

/** Of the address that mail goes to now: once that is another one, the link opens nothing. */
const markOf = (email_key: string): Buffer => hashOfSecret(email_key).subarray(0, 8)

/**
 * Mail is to go to another address, once its mailbox says so. Answers the same whatever is known of that address; false for a throw-away one,
 * null when the link is nobody's.
 */
export const askForAddress = (services: Needs, token: string, to: Address): Promise<boolean | null> =>
  services.database.transaction(async (tx) => {
    const read = await readSubscriberToken(services, tx, { purpose: 'preferences', token })
    const preferences = read && (await preferencesOf(tx, read.key))
    if (!preferences) return null
    if (isDisposable(to.key, services.config.DISPOSABLE_DOMAINS)) return false
    const { list, subscriber } = preferences
    if (to.key === subscriber.email_key || (await findSuppression(tx, list.project_id, to.key))) return true
    const from = services.secrets.mac('waitlist_peer', `contact:${subscriber.contact_id}`)
    await countAttempt(services, tx, { list, from, asks_for_mail: true, limit: askedPerHour })
    const more = Buffer.concat([timeBytes(tx.now), markOf(subscriber.email_key), Buffer.from(to.address)])
    await sendListMail(tx, list, {
      kind: 'address_change',
      to,
      subject: `Get ${list.name} at this address`,
      opening: `Somebody, hopefully you, asked for ${list.name} to be sent to this address from now on.`,
      link: {
        url: `${services.config.PUBLIC_URL}/preferences/address/${subscriberToken(services, 'address_change', subscriber, more)}`,
        label: 'Open this page within a day and press the button',
      },
      closing: 'If it was not you, do nothing: nothing changes, and you will not hear from us again.',
    })
    return true
  })

export interface AddressChange {
  list: ListRow
  subscriber: SubscriberRow
  to: Address
  /** `ended`: too old, or there was another change since. */
  state: 'open' | 'done' | 'ended'
}

export const findAddressChange = (services: Needs & Pick<Services, 'clock'>, token: string): Promise<AddressChange | null> =>
  readChange(services, services.database, { token, now: services.clock.now() })

async function readChange(services: Needs, db: Queryable, { token, now }: { token: string; now: Date }): Promise<AddressChange | null> {
  const read = await readSubscriberToken(services, db, { purpose: 'address_change', token })
  if (!read) return null
  const [list, subscriber] = [await findList(db, read.key), await findSubscriber(db, read.key)]
  const parsed = parseAddress(read.more.subarray(16).toString())
  if (!list || !subscriber || !parsed.ok) return null
  const { address, key } = parsed.value
  const isCurrent = subscriber.email_key !== null && markOf(subscriber.email_key).equals(read.more.subarray(8, 16))
  const state = subscriber.email_key === key ? 'done' : isCurrent && isFresh(read.more, now) ? 'open' : 'ended'
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
  const asked = await readChange(services, tx, { token, now: tx.now })
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

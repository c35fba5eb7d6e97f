import type { Readable } from 'node:stream'
import type { Services } from '../../operations/context.ts'
import { findContact } from '../contacts/index.ts'
import { findList, type ListRow } from '../lists/index.ts'
import { erasePerson, exportPerson } from '../personal-data/index.ts'
import { findSubscriber, isOfAddress, readSubscriberToken, subscriberToken } from '../subscribers/index.ts'
import type { SubscriberRow } from '../subscribers/subscriber.ts'
import { preferencesBehind } from './find-preferences.ts'
import { isFresh, timeBytes } from './link-time.ts'
import { sendListMail } from './list-mail.ts'

type Needs = Pick<Services, 'config' | 'secrets' | 'database'>

/**
 * What is known of somebody, and the end of it, is behind a link that is mailed to them now and lasts a day: the link to their preferences is
 * in every mail, and people pass mail on. Who complained gets it, too: it is they who ask. False when it was asked for too often; null when
 * the link is nobody's.
 */
export const askForData = (services: Needs, token: string): Promise<boolean | null> =>
  services.database.transaction(async (tx) => {
    const preferences = await preferencesBehind(services, tx, token)
    if (!preferences) return null
    const { list, subscriber } = preferences
    return sendListMail(tx, list, {
      kind: 'personal_data',
      to: { address: subscriber.email, key: subscriber.email_key },
      subject: `Your data at ${list.name}`,
      opening: `You asked to see or delete what ${list.name} knows of you.`,
      link: {
        url: `${services.config.PUBLIC_URL}/preferences/data/${subscriberToken(services, 'personal_data', subscriber, timeBytes(tx.now))}`,
        label: 'Open this page within a day',
      },
      closing: 'If it was not you, do nothing. Pass this mail on to nobody: whoever has it can do this in your name.',
    })
  })

export interface OwnData {
  list: ListRow
  subscriber: SubscriberRow
  /** False when the link is too old, or they have another address by now. */
  isOpen: boolean
}

export async function findOwnData(services: Needs & Pick<Services, 'clock'>, token: string): Promise<OwnData | null> {
  const { database, clock } = services
  const read = await readSubscriberToken(services, database, { purpose: 'personal_data', token })
  if (!read) return null
  const [list, subscriber] = await Promise.all([findList(database, read.key), findSubscriber(database, read.key)])
  if (!list || !subscriber) return null
  return { list, subscriber, isOpen: isFresh(read.more, clock.now()) && isOfAddress(read, subscriber) }
}

/** Null when the link is nobody's, or too old. */
export async function exportOwnData(services: Needs & Pick<Services, 'clock'>, token: string): Promise<Readable | null> {
  const own = await findOwnData(services, token)
  if (!own?.isOpen) return null
  const contact = await findContact(services.database, own.subscriber.project_id, own.subscriber.contact_id)
  return contact && exportPerson(services.database, contact)
}

/** As the owner of the list would by `DELETE /contacts/{id}`: from every list and group of this sender. */
export async function eraseOwnData(services: Needs & Pick<Services, 'clock' | 'jobs'>, token: string): Promise<OwnData | null> {
  const own = await findOwnData(services, token)
  if (!own?.isOpen) return null
  await erasePerson(services, own.subscriber)
  return own
}

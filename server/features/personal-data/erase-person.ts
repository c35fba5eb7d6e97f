import { notFound } from '../../base/errors.ts'
import type { ContactId, ProjectId } from '../../base/ids.ts'
import { publish } from '../../events/publish.ts'
import type { Services } from '../../operations/context.ts'
import { groupEventData } from '../contact-groups/contact-group.ts'
import { changeContactCount, lockContact, takeFormerAddresses } from '../contacts/index.ts'
import { changeCounts } from '../lists/index.ts'
import { subscriberEventData } from '../subscribers/subscriber.ts'
import { suppressErased } from '../suppressions/index.ts'
import { forgetEntries } from '../waiting-lines/index.ts'
import { eraseTraces } from './erase-traces.ts'
import { insertErasure, leaveGroups, removeContact, removeSubscriptions } from './erasure-queries.ts'
import { erasedEventData, keysOf } from './person.ts'

interface ContactKey {
  project_id: ProjectId
  contact_id: ContactId
}

/** Gone at once as far as anybody can see; the traces follow within minutes. */
export const erasePerson = ({ database, jobs }: Pick<Services, 'database' | 'jobs'>, key: ContactKey): Promise<void> =>
  database.transaction(async (tx) => {
    const { project_id, contact_id } = key
    const groups = await leaveGroups(tx, key)
    const contact = await lockContact(tx, project_id, contact_id)
    if (!contact) throw notFound('contact')
    const subscriptions = await removeSubscriptions(tx, key)
    const person = { ...key, email: contact.email, email_key: contact.email_key, former: await takeFormerAddresses(tx, contact) }
    for (const email_key of keysOf(person)) await suppressErased(tx, project_id, email_key)
    await removeContact(tx, key)
    for (const subscriber of subscriptions)
      await publish(tx, project_id, 'subscriber.deleted', subscriberEventData({ ...subscriber, email: null, name: null }))
    for (const group of groups) await publish(tx, project_id, 'contact_group.updated', groupEventData(group))
    await publish(tx, project_id, 'contact.deleted', erasedEventData(contact))
    const id = await insertErasure(tx, person)
    await jobs.enqueue(tx, eraseTraces, { id })
    await changeContactCount(tx, project_id, -1)
    for (const { list_id, status } of subscriptions) await changeCounts(tx, { project_id, list_id }, { [status]: -1 })
    for (const { list_id, id: subscriber_id } of subscriptions) await forgetEntries(tx, { project_id, list_id }, [subscriber_id])
  })

import { notFound } from '../../base/errors.ts'
import { publish } from '../../events/publish.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { groupEventData } from '../contact-groups/contact-group.ts'
import { ContactParams } from '../contacts/contact.ts'
import { changeContactCount, lockContact } from '../contacts/index.ts'
import { changeCounts } from '../lists/index.ts'
import { subscriberEventData } from '../subscribers/subscriber.ts'
import { suppressErased } from '../suppressions/index.ts'
import { forgetEntries } from '../waiting-lines/index.ts'
import { eraseTraces } from './erase-traces.ts'
import { insertErasure, leaveGroups, removeContact, removeSubscriptions } from './erasure-queries.ts'
import { erasedEventData } from './person.ts'

export const eraseContact = defineOperation({
  id: 'contacts.delete',
  method: 'DELETE',
  path: '/contacts/{id}',
  scope: 'write',
  summary: 'Erase a person',
  description:
    'The contact is gone at once, from every list and group. Within minutes so is the mail to and from them, with its raw messages and attachments, what they were invited to and invited others to, and their address in the ledgers of posts and in events; the counts of posts stay. What is left is a hash of the address on the suppression list, so that nobody adds them again by mistake; `DELETE /suppressions/{email}` lifts it. It cannot be undone: export first.',
  params: ContactParams,
  status: 204,
  errors: ['not_found'],

  async run({ database, caller: { project_id }, jobs }, { params }) {
    const key = { project_id, contact_id: params.id }
    await database.transaction(async (tx) => {
      const groups = await leaveGroups(tx, key)
      const contact = await lockContact(tx, project_id, params.id)
      if (!contact) throw notFound('contact')
      const subscriptions = await removeSubscriptions(tx, key)
      if (contact.email_key !== null) await suppressErased(tx, project_id, contact.email_key)
      await removeContact(tx, key)
      for (const subscriber of subscriptions)
        await publish(tx, project_id, 'subscriber.deleted', subscriberEventData({ ...subscriber, email: null, name: null }))
      for (const group of groups) await publish(tx, project_id, 'contact_group.updated', groupEventData(group))
      await publish(tx, project_id, 'contact.deleted', erasedEventData(contact))
      const id = await insertErasure(tx, { ...key, email: contact.email, email_key: contact.email_key })
      await jobs.enqueue(tx, eraseTraces, { id })
      await changeContactCount(tx, project_id, -1)
      for (const { list_id, status } of subscriptions) await changeCounts(tx, { project_id, list_id }, { [status]: -1 })
      for (const { list_id, id: subscriber_id } of subscriptions) await forgetEntries(tx, { project_id, list_id }, [subscriber_id])
    })
  },
})

import { z } from 'zod'
import { invalid, notFound } from '../../base/errors.ts'
import { formatId, idOf } from '../../base/ids.ts'
import { publish } from '../../events/publish.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { ContactGroup, GroupParams, groupEventData, maxContacts } from './contact-group.ts'
import { addToCount, holdContacts, insertMembers, lockGroup } from './contact-group-queries.ts'

const most = 1_000

export const addGroupContacts = defineOperation({
  id: 'contact_groups.add',
  method: 'POST',
  path: '/contact-groups/{id}/contacts',
  scope: 'write',
  summary: 'Put contacts into a group',
  description: `Up to ${most} at a time, and ${maxContacts.toLocaleString('en')} in all. Those who are in it already stay. One that does not exist is refused with all the others.`,
  params: GroupParams,
  body: z.object({
    contact_ids: z.array(idOf('con')).min(1, 'must name a contact').max(most, `must have at most ${most} items`),
  }),
  result: ContactGroup,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller: { project_id } }, { params: { id }, body: { contact_ids } }) {
    return database.transaction(async (tx) => {
      const before = await lockGroup(tx, { project_id, id })
      if (!before) throw notFound('contact group')
      const held = new Set((await holdContacts(tx, project_id, contact_ids)).map((contact) => contact.id))
      const missing = contact_ids.findIndex((contact_id) => !held.has(contact_id))
      if (missing >= 0)
        throw invalid(`contact_ids[${missing}]`, `${formatId('con', contact_ids[missing] as string)} is no contact of this project`)
      const added = await insertMembers(tx, before, [...held])
      if (added === 0) return before
      if (before.contact_count + added > maxContacts)
        throw invalid('contact_ids', `would make the group larger than ${maxContacts.toLocaleString('en')} contacts`)
      const group = await addToCount(tx, before, added)
      await publish(tx, project_id, 'contact_group.updated', groupEventData(group))
      return group
    })
  },
})

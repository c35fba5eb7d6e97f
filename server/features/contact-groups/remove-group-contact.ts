import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { idOf } from '../../base/ids.ts'
import { publish } from '../../events/publish.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { groupEventData } from './contact-group.ts'
import { addToCount, lockGroup, removeMember } from './contact-group-queries.ts'

export const removeGroupContact = defineOperation({
  id: 'contact_groups.remove',
  method: 'DELETE',
  path: '/contact-groups/{id}/contacts/{contactId}',
  scope: 'write',
  summary: 'Take a contact out of a group',
  description: 'The contact stays.',
  params: z.object({ id: idOf('grp'), contactId: idOf('con') }),
  status: 204,
  errors: ['not_found'],

  async run({ database, caller: { project_id } }, { params: { id, contactId } }) {
    await database.transaction(async (tx) => {
      const group = await lockGroup(tx, { project_id, id })
      if (!group) throw notFound('contact group')
      if ((await removeMember(tx, group, contactId)) === 0) throw notFound('contact in this group')
      await addToCount(tx, group, -1)
      await publish(tx, project_id, 'contact_group.updated', groupEventData(group))
    })
  },
})

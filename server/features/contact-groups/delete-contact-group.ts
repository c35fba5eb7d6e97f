import { notFound } from '../../base/errors.ts'
import { publish } from '../../events/publish.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { GroupParams, groupEventData } from './contact-group.ts'
import { lockGroup, removeGroup } from './contact-group-queries.ts'

export const deleteContactGroup = defineOperation({
  id: 'contact_groups.delete',
  method: 'DELETE',
  path: '/contact-groups/{id}',
  scope: 'write',
  summary: 'Remove a contact group',
  description: 'Its contacts stay.',
  params: GroupParams,
  status: 204,
  errors: ['not_found'],

  async run({ database, caller: { project_id } }, { params: { id } }) {
    await database.transaction(async (tx) => {
      const group = await lockGroup(tx, { project_id, id })
      if (!group) throw notFound('contact group')
      await removeGroup(tx, group)
      await publish(tx, project_id, 'contact_group.deleted', groupEventData(group))
    })
  },
})

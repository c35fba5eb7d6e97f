import { invalid, notFound } from '../../base/errors.ts'
import { holdName } from '../../database/hold-name.ts'
import { publish } from '../../events/publish.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { ContactGroup, type ContactGroupRow, GroupBody, GroupParams, groupEventData } from './contact-group.ts'
import { isNameTaken, lockGroup, renameGroup } from './contact-group-queries.ts'

export const updateContactGroup = defineOperation({
  id: 'contact_groups.update',
  method: 'PATCH',
  path: '/contact-groups/{id}',
  scope: 'write',
  summary: 'Rename a contact group',
  params: GroupParams,
  body: GroupBody,
  result: ContactGroup,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller: { project_id } }, { params: { id }, body: { name } }) {
    return database.transaction(async (tx) => {
      // Whoever makes or renames one at this moment may want the same name.
      await holdName(tx, `contact_groups:${project_id}`)
      const before = await lockGroup(tx, { project_id, id })
      if (!before) throw notFound('contact group')
      if (before.name === name) return before
      if (await isNameTaken(tx, { project_id, id }, name)) throw invalid('name', 'is the name of another group')
      const group = (await renameGroup(tx, { project_id, id }, name)) as ContactGroupRow // locked above
      await publish(tx, project_id, 'contact_group.updated', groupEventData(group))
      return group
    })
  },
})

import { invalid } from '../../base/errors.ts'
import { holdName } from '../../database/hold-name.ts'
import { publish } from '../../events/publish.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { ContactGroup, GroupBody, groupEventData, maxGroups } from './contact-group.ts'
import { countGroups, insertGroup } from './contact-group-queries.ts'

export const createContactGroup = defineOperation({
  id: 'contact_groups.create',
  method: 'POST',
  path: '/contact-groups',
  scope: 'write',
  summary: 'Make a group of contacts',
  description: `A project has up to ${maxGroups} groups.`,
  body: GroupBody,
  result: ContactGroup,
  status: 201,
  errors: [],

  async run({ database, caller: { project_id } }, { body: { name } }) {
    return database.transaction(async (tx) => {
      // Two at once must not both find room for the last one.
      await holdName(tx, `contact_groups:${project_id}`)
      if ((await countGroups(tx, project_id)) >= maxGroups)
        throw invalid('name', `cannot be added: the project has ${maxGroups} groups, which is the most. Delete one first.`)
      const group = await insertGroup(tx, { project_id, name })
      if (!group) throw invalid('name', 'is the name of another group')
      await publish(tx, project_id, 'contact_group.created', groupEventData(group))
      return group
    })
  },
})

import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { ContactGroup, GroupParams } from './contact-group.ts'
import { findGroup } from './contact-group-queries.ts'

export const getContactGroup = defineOperation({
  id: 'contact_groups.get',
  method: 'GET',
  path: '/contact-groups/{id}',
  scope: 'read',
  summary: 'One contact group',
  params: GroupParams,
  result: ContactGroup,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller: { project_id } }, { params: { id } }) {
    const group = await findGroup(database, { project_id, id })
    if (!group) throw notFound('contact group')
    return group
  },
})

import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { idPosition, pageOf, pageQuery, parseCursor } from '../../operations/page.ts'
import { ContactSummary } from '../contacts/contact.ts'
import { pageGroupContacts } from '../contacts/index.ts'
import { GroupParams } from './contact-group.ts'
import { findGroup } from './contact-group-queries.ts'

export const listGroupContacts = defineOperation({
  id: 'contact_groups.contacts',
  method: 'GET',
  path: '/contact-groups/{id}/contacts',
  scope: 'read',
  summary: 'The contacts of a group, newest first',
  description: '`GET /contacts?group_id=` sorts and searches among them.',
  params: GroupParams,
  query: z.object(pageQuery),
  result: z.array(ContactSummary),
  status: 200,
  errors: ['not_found'],

  async run({ database, caller: { project_id } }, { params: { id }, query: { cursor, limit } }) {
    const [after] = parseCursor(cursor, idPosition) ?? [null]
    if (!(await findGroup(database, { project_id, id }))) throw notFound('contact group')
    return pageOf(await pageGroupContacts(database, { project_id, group_id: id, after, limit: limit + 1 }), limit, (row) => [row.id])
  },
})

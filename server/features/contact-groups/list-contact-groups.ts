import { z } from 'zod'
import { defineOperation } from '../../operations/define-operation.ts'
import { pageOf, pageQuery, parseCursor, unpagedLimit } from '../../operations/page.ts'
import { ContactGroup } from './contact-group.ts'
import { pageGroups } from './contact-group-queries.ts'

export const listContactGroups = defineOperation({
  id: 'contact_groups.list',
  method: 'GET',
  path: '/contact-groups',
  scope: 'read',
  summary: 'All contact groups, by name',
  query: z.object({ cursor: pageQuery.cursor }),
  result: z.array(ContactGroup),
  status: 200,
  errors: [],

  async run({ database, caller: { project_id } }, { query }) {
    const [after] = parseCursor(query.cursor, z.tuple([z.string(), z.uuid()])) ?? [null]
    return pageOf(await pageGroups(database, { project_id, after, limit: unpagedLimit + 1 }), unpagedLimit, ({ name, id }) => [name, id])
  },
})

import { z } from 'zod'
import { defineOperation } from '../../operations/define-operation.ts'
import { idPosition, pageOf, pageQuery, parseCursor, unpagedLimit } from '../../operations/page.ts'
import { Member } from './member.ts'
import { pageMembers } from './member-queries.ts'

export const listMembers = defineOperation({
  id: 'members.list',
  method: 'GET',
  path: '/members',
  scope: 'read',
  summary: 'The project’s members and their roles',
  query: z.object({ cursor: pageQuery.cursor }),
  result: z.array(Member),
  status: 200,
  errors: [],

  async run({ database, caller }, { query }) {
    const [after] = parseCursor(query.cursor, idPosition) ?? [null]
    return pageOf(await pageMembers(database, caller.project_id, after, unpagedLimit + 1), unpagedLimit, (row) => [row.id])
  },
})

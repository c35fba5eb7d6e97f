import { z } from 'zod'
import { defineOperation } from '../../operations/define-operation.ts'
import { idPosition, Page, pageOf, pageQuery, parseCursor, unpagedLimit } from '../../operations/page.ts'
import { ListSummary, toListSummary } from './list.ts'
import { pageLists } from './list-queries.ts'

export const listLists = defineOperation({
  id: 'lists.list',
  method: 'GET',
  path: '/lists',
  scope: 'read',
  summary: 'All lists of the project, newest first',
  query: z.object({ cursor: pageQuery.cursor }),
  result: z.array(ListSummary),
  status: 200,
  errors: [],

  async run({ database, clock, caller }, { query }) {
    const [after] = parseCursor(query.cursor, idPosition) ?? [null]
    const rows = await pageLists(database, caller.project_id, after, unpagedLimit + 1)
    const page = pageOf(rows, unpagedLimit, (row) => [row.id])
    return new Page(
      page.items.map((row) => toListSummary(row, clock.now())),
      page.next,
    )
  },
})

import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { idPosition, Page, pageOf, pageQuery, parseCursor } from '../../operations/page.ts'
import { listExists, UnderListParams } from '../lists/index.ts'
import { PostStats, toPostStats } from './stats.ts'
import { pagePostStats } from './stats-queries.ts'

export const listPostStats = defineOperation({
  id: 'stats.posts',
  method: 'GET',
  path: '/stats/{listId}/posts',
  scope: 'read',
  summary: 'The numbers of each post that was sent to a list, newest first',
  params: UnderListParams,
  query: z.object(pageQuery),
  result: z.array(PostStats),
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params, query }) {
    const key = { project_id: caller.project_id, list_id: params.listId }
    const [after] = parseCursor(query.cursor, idPosition) ?? [null]
    if (!(await listExists(database, key))) throw notFound('list')
    const page = pageOf(await pagePostStats(database, { ...key, after, limit: query.limit + 1 }), query.limit, (row) => [row.post_id])
    return new Page(page.items.map(toPostStats), page.next)
  },
})

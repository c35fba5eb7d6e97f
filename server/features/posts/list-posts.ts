import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { idPosition, Page, pageOf, pageQuery, parseCursor, unpagedLimit } from '../../operations/page.ts'
import { listExists, UnderListParams } from '../lists/index.ts'
import { PostStatus, PostSummary, toPostSummary } from './post.ts'
import { pagePosts } from './post-queries.ts'

export const listPosts = defineOperation({
  id: 'posts.list',
  method: 'GET',
  path: '/lists/{listId}/posts',
  scope: 'read',
  summary: 'The posts of a list, newest first',
  params: UnderListParams,
  query: z.object({ status: PostStatus.optional(), cursor: pageQuery.cursor }),
  result: z.array(PostSummary),
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params, query }) {
    const key = { project_id: caller.project_id, list_id: params.listId }
    const [after] = parseCursor(query.cursor, idPosition) ?? [null]
    if (!(await listExists(database, key))) throw notFound('list')
    const rows = await pagePosts(database, { ...key, status: query.status, after, limit: unpagedLimit + 1 })
    const page = pageOf(rows, unpagedLimit, (row) => [row.id])
    return new Page(page.items.map(toPostSummary), page.next)
  },
})

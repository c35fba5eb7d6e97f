import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { unpagedLimit } from '../../operations/page.ts'
import { findPost, keyOf, PostParams } from '../posts/index.ts'
import { PostLink } from './stats.ts'
import { findLinks } from './stats-queries.ts'

export const listPostLinks = defineOperation({
  id: 'stats.post_links',
  method: 'GET',
  path: '/lists/{listId}/posts/{postId}/links',
  scope: 'read',
  summary: 'The links of a post and how often they were followed, the most followed first',
  description:
    'Each address is there once, however often it stands in the post; of more than 1,000, the most followed. Empty while the post has not been sent, and when its list does not track clicks.',
  params: PostParams,
  result: z.array(PostLink),
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    const post = await findPost(database, keyOf(caller, params))
    if (!post) throw notFound('post')
    return post.broadcast_id === null
      ? []
      : findLinks(database, { project_id: post.project_id, broadcast_id: post.broadcast_id, limit: unpagedLimit })
  },
})

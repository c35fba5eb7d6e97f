import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { PostDetail, PostParams, toPostDetail } from './post.ts'
import { findPost, keyOf } from './post-queries.ts'

export const getPost = defineOperation({
  id: 'posts.get',
  method: 'GET',
  path: '/lists/{listId}/posts/{postId}',
  scope: 'read',
  summary: 'One post, with its numbers once it is being sent',
  params: PostParams,
  result: PostDetail,
  status: 200,
  errors: ['not_found'],

  async run({ database, clock, caller }, { params }) {
    const post = await findPost(database, keyOf(caller, params))
    if (!post) throw notFound('post')
    return toPostDetail(post, clock.now())
  },
})

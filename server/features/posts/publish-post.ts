import { isDeepStrictEqual } from 'node:util'
import { ApiError, notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findList } from '../lists/index.ts'
import { changeState } from './change-state.ts'
import { PostDetail, PostParams, refuseEmpty, refuseUnless } from './post.ts'
import { postSourceOf, siteTextOf } from './post-frame.ts'
import { findPost, keyOf, saveSiteText } from './post-queries.ts'
import { slugFor } from './slug.ts'

export const publishPost = defineOperation({
  id: 'posts.publish',
  method: 'POST',
  path: '/lists/{listId}/posts/{postId}/publish',
  scope: 'send',
  summary: 'Put a draft on the site without mailing it',
  description: 'It can still be sent later. A post that was sent and then taken off the site is shown there again.',
  params: PostParams,
  result: PostDetail,
  status: 200,
  errors: ['not_found', 'validation_error', 'conflict'],

  async run(context, { params }) {
    const key = keyOf(context.caller, params)
    const [list, read] = await Promise.all([findList(context.database, key), findPost(context.database, key)])
    if (!list || !read) throw notFound('post')
    refuseUnless('publish', read)
    refuseEmpty(read)
    const site = await siteTextOf(context, { list, post: read })
    return changeState(context, key, {
      action: 'publish',
      event: 'post.updated',
      apply: async (tx, post) => {
        if (!isDeepStrictEqual(postSourceOf(post), postSourceOf(read)))
          throw new ApiError('conflict', 'The post was changed in this very moment. Look at it once more, and publish it again.')
        await saveSiteText(tx, post, site)
        const slug = await slugFor(tx, post, site)
        // What has been mailed keeps its state and its day.
        if (post.hidden_at !== null) return { hidden_at: null, slug }
        return { status: 'published', needs_approval: false, published_at: tx.now, slug }
      },
    })
  },
})

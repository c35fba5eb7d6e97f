import { defineOperation } from '../../operations/define-operation.ts'
import { changeState } from './change-state.ts'
import { PostDetail, PostParams, refuseEmpty } from './post.ts'
import { keyOf } from './post-queries.ts'
import { slugFor } from './slug.ts'

export const publishPost = defineOperation({
  id: 'posts.publish',
  method: 'POST',
  path: '/lists/{listId}/posts/{postId}/publish',
  scope: 'send',
  summary: 'Put a draft on the site without mailing it',
  description: 'It can still be sent later.',
  params: PostParams,
  result: PostDetail,
  status: 200,
  errors: ['not_found', 'validation_error'],

  async run(context, { params }) {
    return changeState(context, keyOf(context.caller, params), {
      action: 'publish',
      event: 'post.updated',
      apply: async (tx, post) => {
        refuseEmpty(post)
        return { status: 'published', needs_approval: false, published_at: tx.now, slug: await slugFor(tx, post) }
      },
    })
  },
})

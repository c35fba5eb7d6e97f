import { defineOperation } from '../../operations/define-operation.ts'
import { changeState } from './change-state.ts'
import { PostDetail, PostParams } from './post.ts'
import { keyOf } from './post-queries.ts'
import { slugFor } from './slug.ts'

export const unpublishPost = defineOperation({
  id: 'posts.unpublish',
  method: 'POST',
  path: '/lists/{listId}/posts/{postId}/unpublish',
  scope: 'send',
  summary: 'Take a post off the site',
  description:
    'A published post is a draft again: change it, and publish it at the same place. One that was mailed stays as it was sent, and is not shown on the site until it is published again; to show a corrected one, publish a duplicate.',
  params: PostParams,
  result: PostDetail,
  status: 200,
  errors: ['not_found', 'validation_error'],

  async run(context, { params }) {
    return changeState(context, keyOf(context.caller, params), {
      action: 'unpublish',
      event: 'post.updated',
      apply: async (tx, post) => {
        // With a place it is among what has been on the site, so that pages made before are known to be old.
        const slug = await slugFor(tx, post, null)
        if (post.status === 'published' && post.broadcast_id === null) return { status: 'draft', published_at: null, slug }
        return { hidden_at: tx.now, slug }
      },
    })
  },
})

import { abortBroadcast } from '../../delivery/control.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { changeState } from './change-state.ts'
import { PostDetail, PostParams } from './post.ts'
import { keyOf } from './post-queries.ts'

export const abortPost = defineOperation({
  id: 'posts.abort',
  method: 'POST',
  path: '/lists/{listId}/posts/{postId}/abort',
  scope: 'send',
  summary: 'Stop sending a post, for good',
  description: 'Who has it keeps it, and nobody else gets it. The post counts as sent; duplicate it to send it again.',
  params: PostParams,
  result: PostDetail,
  status: 200,
  errors: ['not_found', 'validation_error'],

  async run(context, { params }) {
    return changeState(context, keyOf(context.caller, params), {
      action: 'abort',
      event: 'post.cancelled',
      apply: async (tx, { project_id, id, sent_at }) =>
        (await abortBroadcast(tx, { project_id, post_id: id })) ? { status: 'sent', sent_at: sent_at ?? tx.now } : null,
    })
  },
})

import { defineOperation } from '../../operations/define-operation.ts'
import { changeState } from './change-state.ts'
import { PostDetail, PostParams } from './post.ts'
import { keyOf } from './post-queries.ts'

export const cancelPost = defineOperation({
  id: 'posts.cancel',
  method: 'POST',
  path: '/lists/{listId}/posts/{postId}/cancel',
  scope: 'send',
  summary: 'Take a scheduled post back: it is a draft again',
  params: PostParams,
  result: PostDetail,
  status: 200,
  errors: ['not_found', 'validation_error'],

  async run(context, { params }) {
    return changeState(context, keyOf(context.caller, params), {
      action: 'cancel',
      event: 'post.updated',
      apply: () => ({ status: 'draft', scheduled_at: null }),
    })
  },
})

import { defineOperation } from '../../operations/define-operation.ts'
import { changeState } from './change-state.ts'
import { PostDetail, PostParams } from './post.ts'
import { keyOf } from './post-queries.ts'

export const rejectPost = defineOperation({
  id: 'posts.reject',
  method: 'POST',
  path: '/lists/{listId}/posts/{postId}/reject',
  scope: 'write',
  summary: 'Reject a draft that needs approval',
  description: 'It stays in the list, as rejected.',
  params: PostParams,
  result: PostDetail,
  status: 200,
  errors: ['not_found', 'validation_error'],

  async run(context, { params }) {
    return changeState(context, keyOf(context.caller, params), {
      action: 'reject',
      event: 'post.updated',
      apply: () => ({ status: 'rejected' }),
    })
  },
})

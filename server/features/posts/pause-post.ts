import { pauseBroadcast } from '../../delivery/control.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { changeState } from './change-state.ts'
import { PostDetail, PostParams } from './post.ts'
import { keyOf } from './post-queries.ts'

export const pausePost = defineOperation({
  id: 'posts.pause',
  method: 'POST',
  path: '/lists/{listId}/posts/{postId}/pause',
  scope: 'send',
  summary: 'Hold a post that is being sent',
  description: 'What is on the wire already arrives; nobody else gets it until it is resumed.',
  params: PostParams,
  result: PostDetail,
  status: 200,
  errors: ['not_found', 'validation_error'],

  async run(context, { params }) {
    return changeState(context, keyOf(context.caller, params), {
      action: 'pause',
      event: 'post.paused',
      apply: async (tx, { project_id, id }) => ((await pauseBroadcast(tx, { project_id, post_id: id }, 'Paused by hand')) ? {} : null),
    })
  },
})

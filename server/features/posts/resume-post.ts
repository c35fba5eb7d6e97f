import { resumeBroadcast } from '../../delivery/control.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { changeState } from './change-state.ts'
import { holdAsker } from './hold-asker.ts'
import { refuseLostSenderNow } from './lost-sender.ts'
import { PostDetail, PostParams } from './post.ts'
import { keyOf } from './post-queries.ts'

export const resumePost = defineOperation({
  id: 'posts.resume',
  method: 'POST',
  path: '/lists/{listId}/posts/{postId}/resume',
  scope: 'send',
  summary: 'Go on with a paused post',
  description: 'Nobody who has it gets it again.',
  params: PostParams,
  result: PostDetail,
  status: 200,
  errors: ['not_found', 'validation_error'],

  async run(context, { params }) {
    return changeState(context, keyOf(context.caller, params), {
      action: 'resume',
      event: 'post.resumed',
      apply: async (tx, { project_id, id }) => {
        await holdAsker(tx, context.caller)
        await refuseLostSenderNow(tx, { project_id, post_id: id })
        return (await resumeBroadcast(tx, { project_id, post_id: id })) ? {} : null
      },
    })
  },
})

import { z } from 'zod'
import { invalid } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { timestamp } from '../../operations/schemas.ts'
import { changeState } from './change-state.ts'
import { PostDetail, PostParams, refuseEmpty } from './post.ts'
import { keyOf } from './post-queries.ts'

export const schedulePost = defineOperation({
  id: 'posts.schedule',
  method: 'POST',
  path: '/lists/{listId}/posts/{postId}/schedule',
  scope: 'send',
  summary: 'Send a draft later, or move a scheduled post to another time',
  description:
    'It goes out at that time by itself, to those who are subscribed then. If the plan has no room then, it is a draft again and the owner is told.',
  params: PostParams,
  body: z.object({ scheduled_at: timestamp.meta({ description: 'In the future, ISO 8601 with an offset' }) }),
  result: PostDetail,
  status: 200,
  errors: ['not_found', 'validation_error'],

  async run(context, { params, body: { scheduled_at } }) {
    return changeState(context, keyOf(context.caller, params), {
      action: 'schedule',
      event: 'post.updated',
      apply: (tx, post) => {
        if (scheduled_at <= tx.now) throw invalid('scheduled_at', 'must be in the future')
        refuseEmpty(post)
        return { status: 'scheduled', needs_approval: false, scheduled_at }
      },
    })
  },
})

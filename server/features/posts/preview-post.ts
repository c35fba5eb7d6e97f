import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { idOf } from '../../base/ids.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findList } from '../lists/index.ts'
import { PostParams } from './post.ts'
import { renderFor } from './post-frame.ts'
import { findPost, keyOf } from './post-queries.ts'
import { findReader, someReader } from './reader.ts'

export const previewPost = defineOperation({
  id: 'posts.preview',
  method: 'GET',
  path: '/lists/{listId}/posts/{postId}/preview',
  scope: 'read',
  summary: 'A post as a subscriber gets it',
  description:
    'Merge tags are filled in, CSS is inlined, and the text part is derived where there is none. Its unsubscribe link opens nothing.',
  params: PostParams,
  query: z.object({ subscriber_id: idOf('sub').optional().meta({ description: 'Left out, it is somebody of whom nothing is known' }) }),
  result: z.object({ subject: z.string(), html: z.string().nullable(), text: z.string() }).meta({ id: 'PostPreview' }),
  status: 200,
  errors: ['not_found', 'validation_error'],

  async run(context, { params, query }) {
    const key = keyOf(context.caller, params)
    const [list, post] = await Promise.all([findList(context.database, key), findPost(context.database, key)])
    if (!list || !post) throw notFound('post')
    const reader = query.subscriber_id ? await findReader(context.database, { ...key, subscriber_id: query.subscriber_id }) : someReader
    if (!reader) throw notFound('subscriber')
    const [preview] = await renderFor(context, { list, post }, [reader])
    return preview! // one reader, one preview
  },
})

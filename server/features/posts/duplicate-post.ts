import { notFound } from '../../base/errors.ts'
import { publish } from '../../events/publish.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { holdList } from '../lists/index.ts'
import { needsApproval } from './create-post.ts'
import { PostDetail, PostParams, postEventData, toPostDetail } from './post.ts'
import { findPost, insertPost, keyOf } from './post-queries.ts'

export const duplicatePost = defineOperation({
  id: 'posts.duplicate',
  method: 'POST',
  path: '/lists/{listId}/posts/{postId}/duplicate',
  scope: 'write',
  summary: 'Make a new draft with the words of another post',
  params: PostParams,
  result: PostDetail,
  status: 201,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    const key = keyOf(caller, params)
    return database.transaction(async (tx) => {
      const original = (await holdList(tx, key)) ? await findPost(tx, key) : null
      if (!original) throw notFound('post')
      const { subject, preview_text, body_html, body_text, body_markdown } = original
      const copied = { subject, preview_text, body_html, body_text, body_markdown }
      const needs_approval = await needsApproval(tx, caller)
      const post = await insertPost(tx, { ...key, ...copied, needs_approval, created_by: caller.user_id })
      await publish(tx, caller.project_id, 'post.created', postEventData(post))
      return toPostDetail(post, tx.now)
    })
  },
})

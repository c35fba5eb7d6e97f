import { isDeepStrictEqual } from 'node:util'
import { notFound } from '../../base/errors.ts'
import { publish } from '../../events/publish.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { bodyLimit, PostChanges, PostDetail, PostParams, postEventData, refuseUnless, toPostDetail } from './post.ts'
import { refuseBrokenTemplates } from './post-frame.ts'
import { findPost, keyOf, lockPost, type PostContent, saveContent } from './post-queries.ts'

const nothingWritten: PostContent = { subject: '', preview_text: null, body_html: null, body_text: null, body_markdown: null }

export const updatePost = defineOperation({
  id: 'posts.update',
  method: 'PATCH',
  path: '/lists/{listId}/posts/{postId}',
  scope: 'write',
  summary: 'Change a draft',
  description: 'Fields left out stay as they are; null empties a body or the preview text.',
  params: PostParams,
  body: PostChanges,
  bodyLimit,
  result: PostDetail,
  status: 200,
  errors: ['not_found', 'validation_error'],

  async run({ database, caller, compiler }, { params, body }) {
    const key = keyOf(caller, params)
    const known = await findPost(database, key)
    if (!known) throw notFound('post')
    refuseUnless('update', known)
    // The fields that stay as they are were checked when they were written.
    await refuseBrokenTemplates({ compiler }, caller.project_id, Object.assign({ ...nothingWritten }, body))
    return database.transaction(async (tx) => {
      const before = await lockPost(tx, key)
      if (!before) throw notFound('post')
      refuseUnless('update', before)
      const post = Object.assign({ ...before }, body)
      if (isDeepStrictEqual(post, before)) return toPostDetail(before, tx.now)
      await saveContent(tx, post)
      await publish(tx, caller.project_id, 'post.updated', postEventData(post))
      return toPostDetail({ ...post, issues_summary: null, checked_at: null }, tx.now)
    })
  },
})

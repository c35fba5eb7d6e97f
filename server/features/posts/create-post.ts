import { notFound } from '../../base/errors.ts'
import type { Queryable } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import type { Caller } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findUser } from '../identity/index.ts'
import { holdList, UnderListParams } from '../lists/index.ts'
import { bodyLimit, NewPost, PostDetail, postEventData, toPostDetail } from './post.ts'
import { refuseBrokenTemplates } from './post-frame.ts'
import { insertPost } from './post-queries.ts'

export const createPost = defineOperation({
  id: 'posts.create',
  method: 'POST',
  path: '/lists/{listId}/posts',
  scope: 'write',
  summary: 'Write a draft',
  description:
    'The body is HTML, Markdown or plain text, with Liquid merge tags; a tag that does not work is refused with its line and column. What an agent without the scope `send` writes needs approval: somebody who may send sends or rejects it.',
  params: UnderListParams,
  body: NewPost,
  bodyLimit,
  result: PostDetail,
  status: 201,
  errors: ['not_found'],

  async run({ database, caller, compiler }, { params, body }) {
    const { body_html = null, body_text = null, body_markdown = null, preview_text = null, subject } = body
    const content = { subject, preview_text, body_html, body_text, body_markdown }
    await refuseBrokenTemplates({ compiler }, caller.project_id, content)
    return database.transaction(async (tx) => {
      const key = { project_id: caller.project_id, list_id: params.listId }
      if (!(await holdList(tx, key))) throw notFound('list')
      const needs_approval = await needsApproval(tx, caller)
      const post = await insertPost(tx, { ...key, ...content, needs_approval, created_by: caller.user_id })
      await publish(tx, caller.project_id, 'post.created', postEventData(post))
      return toPostDetail(post, tx.now)
    })
  },
})

/** A merged agent's key is its human's by now, and is known by the mailbox that the agent was given. */
export async function needsApproval(db: Queryable, caller: Caller): Promise<boolean> {
  if (caller.scopes.includes('send')) return false
  return caller.agent_mailbox_id !== null || (await findUser(db, caller.user_id))?.kind === 'agent'
}

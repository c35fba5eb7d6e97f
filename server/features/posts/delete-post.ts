import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { PostParams, refuseUnless } from './post.ts'
import { deletePostRow, keyOf, lockPost } from './post-queries.ts'

export const deletePost = defineOperation({
  id: 'posts.delete',
  method: 'DELETE',
  path: '/lists/{listId}/posts/{postId}',
  scope: 'write',
  summary: 'Delete a draft',
  params: PostParams,
  status: 204,
  errors: ['not_found', 'validation_error'],

  async run({ database, caller }, { params }) {
    const key = keyOf(caller, params)
    await database.transaction(async (tx) => {
      const post = await lockPost(tx, key)
      if (!post) throw notFound('post')
      refuseUnless('delete', post)
      await deletePostRow(tx, key)
    })
  },
})

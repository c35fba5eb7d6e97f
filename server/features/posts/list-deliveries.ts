import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { idPosition, pageOf, pageQuery, parseCursor } from '../../operations/page.ts'
import { Delivery, DeliveryStatus } from './delivery.ts'
import { pageDeliveries } from './delivery-queries.ts'
import { PostParams } from './post.ts'
import { findPost, keyOf } from './post-queries.ts'

export const listDeliveries = defineOperation({
  id: 'deliveries.list',
  method: 'GET',
  path: '/lists/{listId}/posts/{postId}/deliveries',
  scope: 'read',
  summary: 'Who got a post, who did not, and why',
  description: 'One for each recipient, in the order in which they joined. Empty until the post is sent.',
  params: PostParams,
  query: z.object({ status: DeliveryStatus.optional(), ...pageQuery }),
  result: z.array(Delivery),
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params, query }) {
    const key = keyOf(caller, params)
    const [after] = parseCursor(query.cursor, idPosition) ?? [null]
    if (!(await findPost(database, key))) throw notFound('post')
    const rows = await pageDeliveries(database, { ...key, status: query.status, after, limit: query.limit + 1 })
    return pageOf(rows, query.limit, (row) => [row.subscriber_id])
  },
})

import { z } from 'zod'
import { invalid, notFound } from '../../base/errors.ts'
import { formatId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import { retryFailed } from '../../delivery/control.ts'
import { publish } from '../../events/publish.ts'
import type { Context } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { type HeldKey, rememberBegun } from '../../operations/idempotency.ts'
import { holdList } from '../lists/index.ts'
import { bookEmails } from '../payments/index.ts'
import { releaseUnused } from '../usage/index.ts'
import { beginOnce } from './begin-once.ts'
import { countRetryable, findRetry } from './delivery-queries.ts'
import { holdAsker } from './hold-asker.ts'
import { refuseLostSender, refuseLostSenderNow } from './lost-sender.ts'
import { PostParams, type PostRow, postEventData, refuseUnless } from './post.ts'
import { findPost, keyOf, lockPost, type PostKey } from './post-queries.ts'

const operation = 'deliveries.retry'

const RetryResult = z.object({ retried: z.int().meta({ description: 'How many are tried again' }) }).meta({ id: 'RetryResult' })

export const retryDeliveries = defineOperation({
  id: operation,
  method: 'POST',
  path: '/lists/{listId}/posts/{postId}/deliveries/retry',
  scope: 'send',
  isPayable: true,
  summary: 'Try the failed deliveries of a post once more',
  description:
    'Those that were put off until they were given up, and whose subscribers are still there and do not pause at the moment. Bounces and complaints stay as they are, and nobody who has the post gets it again. With an Idempotency-Key a repeat within 24 hours answers 200 and sends nothing.',
  params: PostParams,
  result: RetryResult,
  status: 202,
  errors: ['not_found', 'validation_error', 'limit_exceeded', 'spending_cap_reached', 'conflict', 'provider_error'],

  async run(context, { params }) {
    const key = keyOf(context.caller, params)
    return beginOnce(context, {
      operation,
      key,
      begin: (held) => bookAndRetry(context, key, held),
      whatBecame: (broadcast_id) => whatBecame(context, key, broadcast_id),
    })
  },
})

/** What is not booked is not sent again, and what is not sent again is not booked: one transaction. */
async function bookAndRetry(context: Context, key: PostKey, held: HeldKey) {
  await refuseLostSender(context.database, key)
  const { count, broadcast_id: last } = await findRetryable(context.database, key, context.clock.now())
  // It lets go of one reservation before it takes another, if the end of the last round was not seen to yet. Apart from the booking: the
  // month is what a transaction takes last, and once.
  await context.database.transaction((tx) => releaseUnused(tx, { project_id: key.project_id, id: last }))
  const purchase = { operation, target: formatId('post', key.post_id), count }
  const { result, receipt } = await bookEmails(context, purchase, async (tx, reservation_id) => {
    if (!(await holdList(tx, key)) || !(await lockPost(tx, key))) throw notFound('post')
    await holdAsker(tx, context.caller)
    await refuseLostSenderNow(tx, key)
    const { post, broadcast_id, count: left } = await findRetryable(tx, key, tx.now)
    const { project_id, post_id } = key
    const retried = Math.min(count, left)
    if (!(await retryFailed(tx, { project_id, post_id, reservation_id, booked: count, count: retried })))
      throw invalid('status', 'has changed in this moment; look at the post and try again')
    await publish(tx, project_id, 'post.resumed', postEventData({ ...post, broadcast_status: 'sending' }))
    await rememberBegun(tx, held, broadcast_id)
    return { broadcast_id, result: { retried } }
  })
  return { ...result, receipt }
}

/** What stands in the way is said before anything is booked. */
async function findRetryable(db: Queryable, key: PostKey, now: Date) {
  const post = await findPost(db, key)
  if (!post) throw notFound('post')
  refuseUnless('retry', post)
  const count = await countRetryable(db, key, now)
  if (count === 0)
    throw invalid(
      'deliveries',
      'has none that failed and whose subscriber is still there and does not pause: there is nothing to try again',
    )
  return { post, count, broadcast_id: post.broadcast_id as NonNullable<PostRow['broadcast_id']> } // its broadcast is done, so it has one
}

async function whatBecame({ database }: Context, key: PostKey, broadcast_id: string): Promise<z.output<typeof RetryResult>> {
  const retry = await findRetry(database, key, broadcast_id)
  if (!retry) throw notFound('post')
  return retry
}

import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { type BroadcastId, formatId } from '../../base/ids.ts'
import type { Context } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { rememberBegun } from '../../operations/idempotency.ts'
import { holdList, holdSender } from '../lists/index.ts'
import { bookEmails } from '../payments/index.ts'
import { beginOnce } from './begin-once.ts'
import { beginSending, findSendable } from './begin-sending.ts'
import { PostParams, type PostState, stateOf } from './post.ts'
import { compileIssue } from './post-frame.ts'
import { findPost, findSend, keyOf, lockPost, type PostKey } from './post-queries.ts'

const operation = 'posts.send'

const SendResult = z
  .object({
    status: z.string().meta({ description: 'sending; what has become of it since, when an Idempotency-Key is repeated' }),
    recipients: z.int().meta({ description: 'Active subscribers at this moment' }),
  })
  .meta({ id: 'SendResult' })

export const sendPost = defineOperation({
  id: operation,
  method: 'POST',
  path: '/lists/{listId}/posts/{postId}/send',
  scope: 'send',
  isPayable: true,
  summary: 'Send a post to the active subscribers of its list, now',
  description:
    'Answers at once; the mail goes out in the background, once to each who is subscribed at this moment. A scheduled post goes out now and not again at its time. With an Idempotency-Key a repeat within 24 hours answers 200 and sends nothing.',
  params: PostParams,
  result: SendResult,
  status: 202,
  errors: ['not_found', 'validation_error', 'limit_exceeded', 'spending_cap_reached', 'conflict', 'provider_error'],

  async run(context, { params }) {
    const key = keyOf(context.caller, params)
    return beginOnce(context, {
      operation,
      key,
      begin: () => bookAndBegin(context, key),
      whatBecame: (broadcast_id) => whatBecame(context, key, broadcast_id),
    })
  },
})

/** Booking and beginning are one transaction: what is not booked is not sent, and what is not sent is not booked. */
async function bookAndBegin(context: Context, key: PostKey) {
  const { recipients, activation, ...issue } = await findSendable(context.database, key, context.clock.now())
  const compiled = await compileIssue(context, issue)
  const purchase = { operation, target: formatId('post', key.post_id), count: recipients }
  const { result, receipt } = await bookEmails(context, purchase, async (tx, reservation_id) => {
    // Whoever deletes the list waits for us, and whoever sends at the same time finds it on its way.
    if (!(await holdList(tx, key)) || !(await lockPost(tx, key))) throw notFound('post')
    await holdSender(tx, key)
    // Who has joined since the count gets nothing: a payment may lie between, and nobody more is booked.
    const sendable = { ...(await findSendable(tx, key, tx.now)), recipients, activation, compiled, reservation_id }
    const broadcast_id = await beginSending(context, tx, sendable)
    await rememberBegun(tx, context, broadcast_id)
    return broadcast_id
  })
  return { broadcast_id: result, result: { status: 'sending' satisfies PostState, recipients }, receipt }
}

async function whatBecame({ database }: Context, key: PostKey, broadcast_id: string): Promise<z.output<typeof SendResult>> {
  const [post, send] = await Promise.all([findPost(database, key), findSend(database, key, broadcast_id as BroadcastId)])
  if (!post || !send) throw notFound('post')
  return { status: stateOf(post), recipients: send.recipients }
}

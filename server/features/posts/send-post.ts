import { z } from 'zod'
import { ApiError, notFound } from '../../base/errors.ts'
import { type BroadcastId, formatId } from '../../base/ids.ts'
import type { Context } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { type HeldKey, rememberBegun } from '../../operations/idempotency.ts'
import { holdList, holdSender } from '../lists/index.ts'
import { bookEmails } from '../payments/index.ts'
import { beginOnce } from './begin-once.ts'
import { beginSending, findSendable } from './begin-sending.ts'
import { holdAsker } from './hold-asker.ts'
import { PostParams, type PostState, stateOf } from './post.ts'
import { issueDigest } from './post-approval.ts'
import { compileIssue } from './post-frame.ts'
import { findPost, findSend, keyOf, lockPost, type PostKey } from './post-queries.ts'

const operation = 'posts.send'

const SendResult = z
  .object({
    status: z.string().meta({ description: 'sending; what has become of it since, when an Idempotency-Key is repeated' }),
    recipients: z.int().meta({ description: 'Active subscribers at this moment' }),
  })
  .meta({ id: 'SendResult' })

const contract = {
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
} satisfies Partial<Parameters<typeof defineOperation>[0]>

export const sendPost = defineOperation({
  ...contract,

  async run(context, { params }) {
    return send(context, { key: keyOf(context.caller, params), shown: null })
  },
})

/** For the page that shows a post to who approves it: what has changed since they looked is not sent. No route leads here. */
export const sendShownPost = defineOperation({
  ...contract,
  query: z.object({ shown: z.string().meta({ description: 'The digest of what they saw' }) }),

  async run(context, { params, query }) {
    return send(context, { key: keyOf(context.caller, params), shown: query.shown })
  },
})

interface Wanted {
  key: PostKey
  /** Null for who has not said what they saw. */
  shown: string | null
}

const send = (context: Context, wanted: Wanted) =>
  beginOnce(context, {
    operation,
    key: wanted.key,
    begin: (held) => bookAndBegin(context, wanted, held),
    whatBecame: (broadcast_id) => whatBecame(context, wanted.key, broadcast_id),
  })

/** Booking and beginning are one transaction: what is not booked is not sent, and what is not sent is not booked. */
async function bookAndBegin(context: Context, { key, shown }: Wanted, held: HeldKey) {
  const { recipients, activation, ...issue } = await findSendable(context.database, key, context.clock.now())
  // What is compiled is what is sent (`refuseChanged`).
  if (shown !== null && shown !== issueDigest(context, issue)) throw new ApiError('conflict', 'The post was changed since it was shown.')
  const compiled = await compileIssue(context, issue)
  const purchase = { operation, target: formatId('post', key.post_id), count: recipients }
  const { result, receipt } = await bookEmails(context, purchase, async (tx, reservation_id) => {
    // Whoever deletes the list waits for us, and whoever sends at the same time finds it on its way.
    if (!(await holdList(tx, key)) || !(await lockPost(tx, key))) throw notFound('post')
    await holdAsker(tx, context.caller)
    await holdSender(tx, key)
    // Who has joined since the count gets nothing: a payment may lie between, and nobody more is booked.
    const sendable = { ...(await findSendable(tx, key, tx.now)), recipients, activation, compiled, reservation_id }
    const broadcast_id = await beginSending(context, tx, sendable)
    await rememberBegun(tx, held, broadcast_id)
    return broadcast_id
  })
  return { broadcast_id: result, result: { status: 'sending' satisfies PostState, recipients }, receipt }
}

async function whatBecame({ database }: Context, key: PostKey, broadcast_id: string): Promise<z.output<typeof SendResult>> {
  const [post, send] = await Promise.all([findPost(database, key), findSend(database, key, broadcast_id as BroadcastId)])
  if (!post || !send) throw notFound('post')
  return { status: stateOf(post), recipients: send.recipients }
}

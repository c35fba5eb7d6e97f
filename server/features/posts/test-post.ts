import { z } from 'zod'
import { ApiError, invalid, notFound } from '../../base/errors.ts'
import { newId, type ProjectId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { countMessages, enqueueMessage, type NewMessage } from '../../delivery/enqueue.ts'
import { listFieldsOf, type Preview, type Recipient } from '../../mail/compile/index.ts'
import type { Context } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { email } from '../../operations/schemas.ts'
import { findList, senderOf } from '../lists/index.ts'
import { findSuppression } from '../suppressions/index.ts'
import { reserveEmails } from '../usage/index.ts'
import { PostParams, refuseEmpty } from './post.ts'
import { frameOf, type Issue, renderFor } from './post-frame.ts'
import { findPost, keyOf } from './post-queries.ts'
import { readerAt } from './reader.ts'

const maxCopies = 5
const TestCopies = z.object({
  to: z.array(email).min(1, 'must name at least one address').max(maxCopies, `must name at most ${maxCopies} addresses`),
})

export const testPost = defineOperation({
  id: 'posts.test',
  method: 'POST',
  path: '/lists/{listId}/posts/{postId}/test',
  scope: 'send',
  summary: 'Send a copy of a post to a few addresses, to look at',
  description:
    'The subject begins with [Test]. Copies count as e-mails of the plan; suppressed addresses get none, and one address gets ten an hour.',
  params: PostParams,
  body: TestCopies,
  result: z.object({ sent: z.int() }).meta({ id: 'TestResult' }),
  status: 200,
  errors: ['not_found', 'validation_error', 'limit_exceeded', 'spending_cap_reached'],

  async run(context, { params, body }) {
    const { database, caller } = context
    const key = keyOf(caller, params)
    const [list, post] = await Promise.all([findList(database, key), findPost(database, key)])
    if (!list || !post) throw notFound('post')
    refuseEmpty(post)
    await refuseSuppressed(context, body)
    const addresses = [...Map.groupBy(body.to, (one) => one.key).values()].map(([first]) => first!.address) // no group is empty
    const readers = addresses.map(readerAt)
    const previews = await renderFor(context, { list, post }, readers)
    const copies = previews.map((preview, index) => copyFor(context, { list, post }, { preview, reader: readers[index]! })) // one for each
    await database.transaction(async (tx) => {
      // Two who test at once book one after the other: so each counts what the other has sent.
      await book(context, tx, addresses.length)
      await refusePestering(tx, caller.project_id, body)
      for (const copy of copies) await enqueueMessage(tx, copy)
    })
    return { sent: addresses.length }
  },
})

async function refuseSuppressed({ database, caller }: Context, { to }: z.output<typeof TestCopies>): Promise<void> {
  for (const [index, { key }] of to.entries()) {
    const suppression = await findSuppression(database, caller.project_id, key)
    if (suppression) throw invalid(`to[${index}]`, `is suppressed (${suppression.reason}): it gets no more mail from this project`)
  }
}

const maxPerHour = 10
const hourMs = 3_600_000

/** Somebody who is no subscriber has no way out of what they are sent here, so it stays little, whatever the plan has room for. */
async function refusePestering(tx: Transaction, project_id: ProjectId, { to }: z.output<typeof TestCopies>): Promise<void> {
  const since = new Date(tx.now.getTime() - hourMs)
  for (const [index, { key: recipient_key }] of to.entries()) {
    if ((await countMessages(tx, { kind: 'test', since, project_id, recipient_key })) < maxPerHour) continue
    throw new ApiError('rate_limited', `to[${index}]: has got ${maxPerHour} test copies within the hour. Try again later.`, {
      headers: { 'retry-after': '600' },
    })
  }
}

/** Copies do not come back: a stranger's address in `to` costs what any other mail costs. */
async function book(context: Context, tx: Transaction, count: number): Promise<void> {
  const reserved = await reserveEmails(context, tx, {
    project_id: context.caller.project_id,
    mailbox_id: null,
    reservation_id: newId(),
    count,
  })
  if (reserved.outcome === 'reserved') return
  throw new ApiError(reserved.outcome, `The plan has no room left for this month: ${reserved.excess} of ${count} test copies did not fit.`)
}

function copyFor(context: Context, issue: Issue, { preview, reader }: { preview: Preview; reader: Recipient }): NewMessage {
  const { list } = issue
  const { subject, html, text } = preview
  return {
    project_id: list.project_id,
    kind: 'test',
    list_id: list.id,
    mail: {
      ...senderOf(list),
      to: reader.email,
      subject: `[Test] ${subject}`,
      text,
      html,
      // As every reader gets them. The tokens are nobody's: whoever presses "unsubscribe" in a test copy leaves nothing.
      headers: listFieldsOf(frameOf(context, issue, context.clock.now()), reader),
    },
  }
}

import { z } from 'zod'
import { ApiError, invalid, notFound } from '../../base/errors.ts'
import { newId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { enqueueMessage, type NewMessage } from '../../delivery/enqueue.ts'
import type { Context } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { email } from '../../operations/schemas.ts'
import { findList } from '../lists/index.ts'
import { findSuppression } from '../suppressions/index.ts'
import { reserveEmails } from '../usage/index.ts'
import { PostParams, refuseEmpty } from './post.ts'
import { type Issue, renderFor } from './post-frame.ts'
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
  description: 'The subject begins with [Test]. Copies count as e-mails of the plan; suppressed addresses get none.',
  params: PostParams,
  body: TestCopies,
  result: z.object({ sent: z.int() }).meta({ id: 'TestResult' }),
  status: 200,
  errors: ['not_found', 'limit_exceeded', 'spending_cap_reached'],

  async run(context, { params, body }) {
    const { database, caller } = context
    const key = keyOf(caller, params)
    const [list, post] = await Promise.all([findList(database, key), findPost(database, key)])
    if (!list || !post) throw notFound('post')
    refuseEmpty(post)
    await refuseSuppressed(context, body)
    const addresses = [...Map.groupBy(body.to, (one) => one.key).values()].map(([first]) => first!.address) // no group is empty
    const copies = addresses.map((to) => copyFor(context, { list, post }, to))
    await database.transaction(async (tx) => {
      for (const copy of copies) await enqueueMessage(tx, copy)
      await book(context, tx, addresses.length)
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

function copyFor(context: Context, issue: Issue, to: string): NewMessage {
  const { list } = issue
  const { subject, html, text } = renderFor(context, issue, readerAt(to))
  return {
    project_id: list.project_id,
    kind: 'test',
    list_id: list.id,
    mail: {
      from: { name: list.sender_name ?? list.name, address: list.mailbox_address },
      to,
      reply_to: list.reply_to,
      subject: `[Test] ${subject}`,
      text,
      html,
      headers: {},
    },
  }
}

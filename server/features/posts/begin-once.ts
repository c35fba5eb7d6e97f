import { notFound } from '../../base/errors.ts'
import { formatId } from '../../base/ids.ts'
import type { Context } from '../../operations/context.ts'
import { Answer } from '../../operations/define-operation.ts'
import { type HeldKey, takeTurn } from '../../operations/idempotency.ts'
import { findPost, type PostKey } from './post-queries.ts'

interface Work<Result> {
  operation: string
  key: PostKey
  /** Books and begins, in one transaction that also remembers what the Idempotency-Key began. */
  begin(key: HeldKey): Promise<{ broadcast_id: string; result: Result; receipt: string | null }>
  /** For a repeat: the answer to what has begun already. */
  whatBecame(broadcast_id: string): Promise<Result>
}

/** Mail to many that goes out in the background, once for each Idempotency-Key. */
export async function beginOnce<Result>(context: Context, work: Work<Result>): Promise<Answer<Result>> {
  const { operation, key, begin, whatBecame } = work
  if (!(await findPost(context.database, key))) throw notFound('post')
  // The body is empty whichever post it is: the key stands for this one.
  const turn = await takeTurn(context, `${operation} ${formatId('post', key.post_id)}`)
  if (turn.turn === 'repeat') return new Answer(await whatBecame(turn.result_id), { isRepeat: true, receipt: turn.receipt })
  const held = turn.key
  try {
    if (held.begun !== null) {
      // The first request began it and died before it could say so.
      await held.finish(held.begun)
      return new Answer(await whatBecame(held.begun), { isRepeat: true, receipt: held.receipt })
    }
    const { broadcast_id, result, receipt } = await begin(held)
    if (receipt !== null) await held.noteReceipt(receipt)
    await held.finish(broadcast_id)
    return new Answer(result, { receipt })
  } catch (error) {
    // When not even that works, the lease runs out; what went wrong first tells more.
    await held.giveBack().catch(() => {})
    throw error
  }
}

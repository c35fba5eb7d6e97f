import { invalid } from '../../base/errors.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { findLostSender, holdBegunSender, type PostKey } from './post-queries.ts'

type OfPost = Pick<PostKey, 'project_id' | 'post_id'>

/** What was begun from a domain of the project's own goes on only while that is verified: unsigned, it would be taken for forged. */
export async function refuseLostSender(db: Queryable, key: OfPost): Promise<void> {
  const lost = await findLostSender(db, key)
  if (!lost) return
  throw invalid(
    'sender',
    lost.is_set_up
      ? `the DNS records of ${lost.from_domain}, which this post was begun from, are gone. Mend them, and it goes on by itself; or abort it`
      : `this post was begun from ${lost.from_domain}, which is no sender of this project any more. Set it up for the list again, and go on when it is verified`,
  )
}

/** The same for what begins to go out with this transaction: the domain is not lost before it ends. */
export async function refuseLostSenderNow(tx: Transaction, key: OfPost): Promise<void> {
  await holdBegunSender(tx, key)
  await refuseLostSender(tx, key)
}

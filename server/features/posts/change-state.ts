import { invalid, notFound } from '../../base/errors.ts'
import type { Transaction } from '../../database/database.ts'
import type { EventType } from '../../events/catalogue.ts'
import { publish } from '../../events/publish.ts'
import type { Context } from '../../operations/context.ts'
import { type PostRow, postEventData, refuseUnless, toPostDetail } from './post.ts'
import { findPost, lockPost, type PostKey, saveState } from './post-queries.ts'

interface Change {
  action: Parameters<typeof refuseUnless>[0]
  event: Extract<EventType, `post.${string}`>
  /** What is different afterwards. What else has to happen in the same transaction, happens here. Null: the engine was quicker. */
  apply(tx: Transaction, post: PostRow): Partial<PostRow> | Promise<Partial<PostRow> | null>
}

/** Everything that takes a post from one state to another goes this way: look, refuse or change, tell. */
export const changeState = ({ database }: Pick<Context, 'database'>, key: PostKey, { action, event, apply }: Change) =>
  database.transaction(async (tx) => {
    const post = await lockPost(tx, key)
    if (!post) throw notFound('post')
    refuseUnless(action, post)
    const change = await apply(tx, post)
    if (!change) throw invalid('status', 'has changed in this moment; look at the post and try again')
    await saveState(tx, { ...post, ...change })
    const after = (await findPost(tx, key))! // locked above, and still there
    await publish(tx, key.project_id, event, postEventData(after))
    return toPostDetail(after, tx.now)
  })

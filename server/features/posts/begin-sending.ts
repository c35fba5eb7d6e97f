import { invalid, notFound } from '../../base/errors.ts'
import type { BroadcastId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { numberPress, startBroadcast } from '../../delivery/control.ts'
import { publish } from '../../events/publish.ts'
import type { Services } from '../../operations/context.ts'
import { findList, isSenderLost, type ListRow } from '../lists/index.ts'
import { countPaused } from '../subscribers/index.ts'
import { postEventData, refuseEmpty, refuseUnless } from './post.ts'
import { broadcastSourceOf, type CompiledIssue, type Issue, refuseChanged } from './post-frame.ts'
import { countAgents, findPost, type PostKey, saveSiteText, saveState } from './post-queries.ts'
import { slugFor } from './slug.ts'

export interface Sendable extends Issue {
  /** Whoever is subscribed now, has an address, and has not paused. */
  recipients: number
  /** And nobody who joins later. */
  activation: number
}

/** What stands in the way of sending is said before anything is booked. */
export async function findSendable(db: Queryable, key: PostKey, now: Date): Promise<Sendable> {
  const activation = await numberPress(db)
  const list = await findList(db, key)
  const post = await findPost(db, key)
  if (!list || !post) throw notFound('post')
  refuseUnless('send', post)
  refuseEmpty(post)
  if (isSenderLost(list)) throw invalid('sender', lost(list))
  const recipients = list.subscriber_count - (await countAgents(db, key)) - (await countPaused(db, key, now))
  if (recipients <= 0) throw invalid('list', nobody(list))
  return { post, list, recipients, activation }
}

const lost = ({ sender_domain }: ListRow): string =>
  `the DNS records of ${sender_domain} are gone, and receivers would take this post for forged. Mend them and ask for a check (POST …/sender/check), or send from the default address (DELETE …/sender)`

const nobody = ({ subscriber_count }: ListRow): string =>
  subscriber_count === 0
    ? 'has no active subscribers: there is nobody to send to'
    : 'has no active subscribers but those who have paused it: there is nobody to send to just now'

/** The post is locked, and what is to be sent is booked. From the commit on the engine has it; it says `sent` when all is done. */
export async function beginSending(
  services: Pick<Services, 'config'>,
  tx: Transaction,
  { post, list, recipients, activation, compiled, reservation_id }: Sendable & { compiled: CompiledIssue; reservation_id: string },
): Promise<BroadcastId> {
  const source = broadcastSourceOf(services, { list, post }, tx.now)
  refuseChanged(compiled, source)
  const { project_id, list_id, id: post_id } = post
  const broadcast = { project_id, list_id, post_id, source, compiled: compiled.parts, recipients, activation, reservation_id }
  const broadcast_id = await startBroadcast(tx, broadcast)
  // It is not waiting for its time any more. Whoever may send has approved it.
  const status = post.status === 'scheduled' ? 'draft' : post.status
  const sending = {
    ...post,
    status,
    scheduled_at: null,
    needs_approval: false,
    broadcast_id,
    published_at: post.published_at ?? tx.now,
    slug: await slugFor(tx, post, compiled.site),
  }
  await saveState(tx, sending)
  await saveSiteText(tx, post, compiled.site)
  await publish(tx, project_id, 'post.sent', postEventData({ ...sending, broadcast_status: 'sending', recipients }))
  return broadcast_id
}

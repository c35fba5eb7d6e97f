import { invalid, notFound } from '../../base/errors.ts'
import type { BroadcastId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { numberPress, startBroadcast } from '../../delivery/control.ts'
import { publish } from '../../events/publish.ts'
import type { Services } from '../../operations/context.ts'
import { findList } from '../lists/index.ts'
import { postEventData, refuseEmpty, refuseUnless } from './post.ts'
import { broadcastSourceOf, type CompiledIssue, type Issue, refuseChanged } from './post-frame.ts'
import { countAgents, findPost, type PostKey, saveState } from './post-queries.ts'

export interface Sendable extends Issue {
  /** Whoever is subscribed now, and has an address. */
  recipients: number
  /** And nobody who joins later. */
  activation: number
}

/** What stands in the way of sending is said before anything is booked. */
export async function findSendable(db: Queryable, key: PostKey): Promise<Sendable> {
  const activation = await numberPress(db)
  const list = await findList(db, key)
  const post = await findPost(db, key)
  if (!list || !post) throw notFound('post')
  refuseUnless('send', post)
  refuseEmpty(post)
  const recipients = list.subscriber_count - (await countAgents(db, key))
  if (recipients === 0) throw invalid('list', 'has no active subscribers: there is nobody to send to')
  return { post, list, recipients, activation }
}

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
  const sending = { ...post, status, scheduled_at: null, needs_approval: false, broadcast_id }
  await saveState(tx, sending)
  await publish(tx, project_id, 'post.sent', postEventData({ ...sending, broadcast_status: 'sending', recipients }))
  return broadcast_id
}

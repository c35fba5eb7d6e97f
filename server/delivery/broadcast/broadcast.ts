import type { BroadcastId, ContactId, DeliveryId, ListId, PostId, ProjectId, SubscriberId } from '../../base/ids.ts'
import type { Frame, PostSource } from '../../mail/compile/index.ts'

/** What a broadcast sends, as it was when send was pressed. */
export interface BroadcastSource {
  post: PostSource
  frame: Frame
}

export interface BroadcastKey {
  project_id: ProjectId
  id: BroadcastId
}

/** sending ⇄ paused; sending → done, when every delivery is settled; sending or paused → aborted. */
export type BroadcastStatus = 'sending' | 'paused' | 'done' | 'aborted'

export interface BroadcastRow extends BroadcastKey {
  list_id: ListId
  post_id: PostId
  status: BroadcastStatus
  source: BroadcastSource
  recipients: number
  /** Those with a smaller one were subscribed when send was pressed. */
  activation: number
  expanded_to: SubscriberId | null
  is_expanded: boolean
  /** How many that failed are to be queued again; 0 while those are to be found who never were. */
  retry_left: number
  created_at: Date
}

export interface Claimed {
  project_id: ProjectId
  id: DeliveryId
  broadcast_id: BroadcastId
  contact_id: ContactId
  email: string
  name: string | null
  attempts: number
  /** Only where the merge tags ask for it. */
  contact?: Record<string, unknown> | null
}

import { type BroadcastId, type ListId, newId, type PostId, type ProjectId } from '../base/ids.ts'
import { wake } from '../base/wake.ts'
import type { Transaction } from '../database/database.ts'
import { usesContact } from '../mail/compile/index.ts'
import type { BroadcastSource } from './broadcast/broadcast.ts'

export type { BroadcastSource } from './broadcast/broadcast.ts'
export { contactValues } from './broadcast/merge-values.ts'

export interface NewBroadcast {
  project_id: ProjectId
  list_id: ListId
  post_id: PostId
  source: BroadcastSource
  /** Active subscribers at this moment; each is booked already. */
  recipients: number
  reservation_id: string
}

/** Begins with the commit of the transaction: no network, no loop over people. The engine turns subscribers into deliveries. */
export async function startBroadcast(tx: Transaction, broadcast: NewBroadcast): Promise<BroadcastId> {
  const id = newId<'brd'>()
  const { project_id, list_id, post_id, source, recipients, reservation_id } = broadcast
  await tx.run`
    insert into broadcasts (project_id, id, list_id, post_id, source, uses_contact, recipients, reservation_id, booked, snapshot_at, created_at)
    values (${project_id}, ${id}, ${list_id}, ${post_id}, ${JSON.stringify(source)}, ${usesContact(source.post)}, ${recipients}, ${reservation_id}, ${recipients}, ${tx.now}, ${tx.now})`
  tx.afterCommit(() => wake('broadcasts'))
  return id
}

interface Which {
  project_id: ProjectId
  post_id: PostId
}

/** What is on the wire already goes out; nothing more is claimed. False when there is nothing to pause. */
export const pauseBroadcast = async (tx: Transaction, { project_id, post_id }: Which, reason: string | null): Promise<boolean> =>
  (await tx.run`
    update broadcasts set status = 'paused', reason = ${reason}
    where project_id = ${project_id} and post_id = ${post_id} and status = 'sending'`) > 0

/** Whoever resumes has seen what there was to see: the breaker counts from here on. */
export async function resumeBroadcast(tx: Transaction, { project_id, post_id }: Which): Promise<boolean> {
  const resumed = await tx.run`
    update broadcasts set status = 'sending', reason = null, tripped = null, owner_told_at = null,
      forgiven_settled = delivered + bounced + failed + complained, forgiven_bounced = bounced, forgiven_complained = complained
    where project_id = ${project_id} and post_id = ${post_id} and status = 'paused'`
  tx.afterCommit(() => wake('broadcasts'))
  return resumed > 0
}

/** Whoever has it keeps it; nobody else gets it. The engine closes what is left. */
export async function abortBroadcast(tx: Transaction, { project_id, post_id }: Which): Promise<boolean> {
  const aborted = await tx.run`
    update broadcasts set status = 'aborted', reason = 'aborted'
    where project_id = ${project_id} and post_id = ${post_id} and status in ('sending', 'paused')`
  tx.afterCommit(() => wake('broadcasts'))
  return aborted > 0
}

interface Retry extends Which {
  reservation_id: string
  /** So many are booked; no more are queued. */
  count: number
}

/**
 * Queues again what was given up, for those who are still subscribed; who has left since stays as they are. The broadcast of a post
 * that is done goes on. How many that are.
 */
export async function retryFailed(tx: Transaction, { project_id, post_id, reservation_id, count }: Retry): Promise<number> {
  const broadcast = await tx.first<{ id: BroadcastId; list_id: ListId }>`
    select id, list_id from broadcasts where project_id = ${project_id} and post_id = ${post_id} and status = 'done' order by id desc limit 1 for update`
  if (!broadcast) return 0
  const retried = await tx.run`
    update deliveries d set status = 'queued', attempts = 0, next_attempt_at = ${tx.now}, settled_at = null
    from (
      select d.id from deliveries d
      join subscribers s on s.project_id = d.project_id and s.list_id = ${broadcast.list_id} and s.id = d.subscriber_id and s.status = 'active'
      where d.project_id = ${project_id} and d.broadcast_id = ${broadcast.id} and d.status = 'failed' limit ${count}
    ) again
    where d.project_id = ${project_id} and d.id = again.id`
  await tx.run`
    update broadcasts set status = 'sending', finished_at = null, failed = failed - ${retried}, retried = ${retried},
      booked = booked + ${count}, reservation_id = ${reservation_id},
      forgiven_settled = delivered + bounced + failed + complained - ${retried}, forgiven_bounced = bounced, forgiven_complained = complained
    where project_id = ${project_id} and id = ${broadcast.id}`
  tx.afterCommit(() => wake('broadcasts'))
  return retried
}

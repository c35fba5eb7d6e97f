import { type BroadcastId, type ListId, newId, type PostId, type ProjectId } from '../base/ids.ts'
import { wake } from '../base/wake.ts'
import type { Transaction } from '../database/database.ts'
import type { BroadcastSource } from './broadcast/broadcast.ts'

export type { BroadcastSource } from './broadcast/broadcast.ts'

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
    insert into broadcasts (project_id, id, list_id, post_id, source, recipients, reservation_id, snapshot_at, created_at)
    values (${project_id}, ${id}, ${list_id}, ${post_id}, ${JSON.stringify(source)}, ${recipients}, ${reservation_id}, ${tx.now}, ${tx.now})`
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

export async function resumeBroadcast(tx: Transaction, { project_id, post_id }: Which): Promise<boolean> {
  const resumed = await tx.run`
    update broadcasts set status = 'sending', reason = null
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

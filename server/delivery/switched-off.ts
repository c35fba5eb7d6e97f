import type { BroadcastId, ProjectId } from '../base/ids.ts'
import { wake } from '../base/wake.ts'
import type { Transaction } from '../database/database.ts'
import { type Fragment, sql } from '../database/sql.ts'
import type { Outcome } from './transports/index.ts'

/**
 * A human has switched their agent off: nothing that it has set going may go on. Posts on their way are paused, and go on when somebody
 * resumes them; single mail waits, and goes out when the agent is switched on again, or fails when that takes too long.
 */

/** Whether a project is such an agent's. One that is deleted was merged into another: what is left there is on its way to that one. */
export const isSwitchedOff = (project_id: Fragment): Fragment => sql`exists (
  select 1 from projects held join users agent on agent.id = held.owner_id
  where held.id = ${project_id} and held.deleted_at is null and agent.kind = 'agent' and agent.disabled_at is not null)`

const reasonOfPause = 'Paused by itself: the agent that this project belongs to was switched off. It goes on when somebody resumes it.'

/** All that a project has on its way, and what would go on by itself. Answers which were on their way. */
export async function pauseAllBroadcasts(tx: Transaction, project_id: ProjectId): Promise<BroadcastId[]> {
  await tx.run`
    update broadcasts set reason = ${reasonOfPause}
    where project_id = ${project_id} and status = 'paused' and tripped is null and reason like 'Paused by itself:%'`
  const paused = await tx.many<{ id: BroadcastId }>`
    update broadcasts set status = 'paused', reason = ${reasonOfPause} where project_id = ${project_id} and status = 'sending' returning id`
  tx.afterCommit(() => wake('broadcasts'))
  return paused.map(({ id }) => id)
}

const reasonOfWaiting = 'Held back: the agent that this project belongs to is switched off'

/** As if its server could not be reached: it is looked at again, and given up in the end. */
export const heldBack: Outcome = {
  kind: 'deferred',
  smtp_code: null,
  enhanced_code: null,
  reason: reasonOfWaiting,
  detail: reasonOfWaiting,
}

/** What waits for the switch need not wait for its time. */
export async function letMessagesGo(tx: Transaction, project_id: ProjectId): Promise<void> {
  await tx.run`
    update messages set next_attempt_at = least(now(), ${tx.now}::timestamptz)
    where project_id = ${project_id} and status = 'queued' and reason = ${reasonOfWaiting}`
  tx.afterCommit(() => wake('messages'))
}

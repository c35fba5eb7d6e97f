import type { ProjectId, UserId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { addScope } from './agent-queries.ts'

/** The invite of a linked agent: `user_id` is the agent that asks, into `project_id`, which is its own. */
export interface AgentInvite {
  project_id: ProjectId
  user_id: UserId
}

/** What a human's answer does to the agent: a yes may let it send. Who becomes a member of what is decided where invites are. */
export async function decideAgentInvite(
  tx: Transaction,
  invite: AgentInvite,
  { approved, send }: { approved: boolean; send: boolean },
): Promise<void> {
  if (approved && send) await addScope(tx, invite, 'send')
}

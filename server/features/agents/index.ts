import type { Operation } from '../../operations/define-operation.ts'
import { claimAgent } from './claim-agent.ts'
import { completeClaim } from './complete-claim.ts'
import { listAgents } from './list-agents.ts'
import { registerAgent } from './register-agent.ts'
import { updateAgent } from './update-agent.ts'

export const agentOperations: Operation[] = [registerAgent, claimAgent, completeClaim, listAgents, updateAgent]

export { lookAfterAgents } from './look-after-agents.ts'
export { moveRest } from './move-rest.ts'
export { findProjectNow } from './registration-queries.ts'
export { listAgents, updateAgent }

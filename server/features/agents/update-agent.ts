import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { idOf } from '../../base/ids.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { addScopeToKeys, removeScopeFromKeys } from '../tokens/index.ts'
import { Agent, AgentChanges, toAgent } from './agent.ts'
import { findAgent, lockAgent } from './agent-queries.ts'
import { switchOff, switchOn } from './switch-agent.ts'

export const updateAgent = defineOperation({
  id: 'agents.update',
  method: 'PATCH',
  path: '/api/agents/{id}',
  base: 'identity',
  scope: 'admin',
  actsForPerson: true,
  summary: 'Switch an agent of yours off or on, or let it send',
  description:
    'An agent that is switched off keeps what it has, and its keys stop on every node within a second. What it has set going stops, too: posts on their way are paused (`post.paused`), scheduled ones wait, and so does single mail, such as confirmations and what its proxy mailboxes pass on. Switched on, posts whose time has come meanwhile go out at once, and so does single mail, unless it has waited for two days: then it has failed. Posts that were on their way stay paused until somebody resumes or aborts them.',
  params: z.object({ id: idOf('usr') }),
  body: AgentChanges,
  result: Agent,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params, body: { status, send } }) {
    return database.transaction(async (tx) => {
      await lockAgent(tx, caller.user_id, params.id)
      const known = await findAgent(tx, caller.user_id, params.id)
      if (!known) throw notFound('agent')
      const keys = { project_id: known.project_id, user_id: known.id }
      if (status !== undefined) await (status === 'disabled' ? switchOff : switchOn)(tx, known.id)
      if (send === true) await addScopeToKeys(tx, keys, 'send')
      if (send === false) await removeScopeFromKeys(tx, keys, 'send')
      const agent = await findAgent(tx, caller.user_id, params.id)
      return toAgent(agent!) // held since it was found
    })
  },
})

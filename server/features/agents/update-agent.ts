import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { idOf } from '../../base/ids.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { Agent, AgentChanges, toAgent } from './agent.ts'
import { addScope, findAgent, lockAgent, removeScope, setDisabled } from './agent-queries.ts'

export const updateAgent = defineOperation({
  id: 'agents.update',
  method: 'PATCH',
  path: '/api/agents/{id}',
  base: 'identity',
  scope: 'admin',
  actsForPerson: true,
  summary: 'Switch an agent of yours off or on, or let it send',
  description: 'An agent that is switched off keeps what it has, and its keys stop on every node within a second.',
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
      if (status !== undefined) await setDisabled(tx, known.id, status === 'disabled')
      if (send === true) await addScope(tx, keys, 'send')
      if (send === false) await removeScope(tx, keys, 'send')
      const agent = await findAgent(tx, caller.user_id, params.id)
      return toAgent(agent!) // held since it was found
    })
  },
})

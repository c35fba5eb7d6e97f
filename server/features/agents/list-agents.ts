import { z } from 'zod'
import { defineOperation } from '../../operations/define-operation.ts'
import { idPosition, pageOf, pageQuery, parseCursor, unpagedLimit } from '../../operations/page.ts'
import { Agent, toAgent } from './agent.ts'
import { pageAgents } from './agent-queries.ts'

export const listAgents = defineOperation({
  id: 'agents.list',
  method: 'GET',
  path: '/api/agents',
  base: 'identity',
  scope: 'admin',
  actsForPerson: true,
  summary: 'The agents that are linked to you, newest first',
  description: 'They are yours, whatever project the key belongs to. Agents that were merged into your account are not among them.',
  query: z.object({ cursor: pageQuery.cursor }),
  result: z.array(Agent),
  status: 200,
  errors: [],

  async run({ database, caller }, { query }) {
    const [after] = parseCursor(query.cursor, idPosition) ?? [null]
    const rows = await pageAgents(database, caller.user_id, after, unpagedLimit + 1)
    return pageOf(rows.map(toAgent), unpagedLimit, (agent) => [agent.id])
  },
})

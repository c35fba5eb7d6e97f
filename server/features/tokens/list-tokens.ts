import { z } from 'zod'
import { defineOperation } from '../../operations/define-operation.ts'
import { idPosition, pageOf, pageQuery, parseCursor, unpagedLimit } from '../../operations/page.ts'
import { Token } from './token.ts'
import { pageTokens } from './token-queries.ts'

export const listTokens = defineOperation({
  id: 'tokens.list',
  method: 'GET',
  path: '/api/tokens',
  base: 'identity',
  scope: 'admin',
  summary: 'The project’s API keys, newest first',
  description: 'The keys themselves are not kept, so they cannot be shown again.',
  query: z.object({ cursor: pageQuery.cursor }),
  result: z.array(Token),
  status: 200,
  errors: [],

  async run({ database, caller }, { query }) {
    const [after] = parseCursor(query.cursor, idPosition) ?? [null]
    return pageOf(await pageTokens(database, caller.project_id, after, unpagedLimit + 1), unpagedLimit, (row) => [row.id])
  },
})

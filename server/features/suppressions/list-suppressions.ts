import { z } from 'zod'
import { defineOperation } from '../../operations/define-operation.ts'
import { pageOf, pageQuery, parseCursor } from '../../operations/page.ts'
import { email, timestamp } from '../../operations/schemas.ts'
import { Suppression, SuppressionReason } from './suppression.ts'
import { pageSuppressions } from './suppression-queries.ts'

const position = z.tuple([timestamp, z.string().regex(/^[0-9a-f]{64}$/)])

export const listSuppressions = defineOperation({
  id: 'suppressions.list',
  method: 'GET',
  path: '/suppressions',
  scope: 'read',
  summary: 'Addresses that get no more mail from this project, newest first',
  query: z.object({
    reason: SuppressionReason.optional(),
    search: email.optional().meta({ description: 'The whole address: says whether it is suppressed, also after the person was erased' }),
    ...pageQuery,
  }),
  result: z.array(Suppression),
  status: 200,
  errors: [],

  async run({ database, caller }, { query }) {
    const { reason, search, limit } = query
    const cursor = parseCursor(query.cursor, position)
    const after = cursor && { created_at: cursor[0], address_hash: Buffer.from(cursor[1], 'hex') }
    const filter = { project_id: caller.project_id, reason, email_key: search?.key, after, limit: limit + 1 }
    return pageOf(await pageSuppressions(database, filter), limit, (row) => [
      row.created_at.toISOString(),
      row.address_hash.toString('hex'),
    ])
  },
})

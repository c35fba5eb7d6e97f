import { csvStream } from '../../base/csv.ts'
import type { ProjectId } from '../../base/ids.ts'
import type { Database } from '../../database/database.ts'
import { csvDownload, defineOperation } from '../../operations/define-operation.ts'
import { pageSuppressions } from './suppression-queries.ts'

export const exportSuppressions = defineOperation({
  id: 'suppressions.export',
  method: 'GET',
  path: '/suppressions/export',
  scope: 'read',
  summary: 'All suppressed addresses as CSV',
  description: 'Streamed, newest first: email (empty after the person was erased), reason, detail, created_at.',
  result: csvDownload,
  status: 200,
  errors: [],

  async run({ database, caller }) {
    const pages = pagesOf(database, caller.project_id)
    return { filename: 'suppressions.csv', stream: csvStream(['email', 'reason', 'detail', 'created_at'], pages) }
  },
})

const pageSize = 5_000

/** Page by page rather than one long query: a slow reader must not keep a database session, or hold up the vacuum, for hours. */
async function* pagesOf(database: Database, project_id: ProjectId): AsyncGenerator<(string | null)[][]> {
  for (let after: Parameters<typeof pageSuppressions>[1]['after'] = null; ; ) {
    const rows = await pageSuppressions(database, { project_id, after, limit: pageSize })
    yield rows.map((row) => [row.email, row.reason, row.detail, row.created_at.toISOString()])
    if (rows.length < pageSize) return
    after = rows.at(-1) ?? null
  }
}

import type { Readable } from 'node:stream'
import { csvStream } from '../../base/csv.ts'
import { notFound } from '../../base/errors.ts'
import type { Database } from '../../database/database.ts'
import { csvDownload, defineOperation } from '../../operations/define-operation.ts'
import { findList, findListType, type ListKey, UnderListParams } from '../lists/index.ts'
import { pageSubscribers } from './subscriber-queries.ts'
import { withStandings } from './with-standings.ts'

export const exportSubscribers = defineOperation({
  id: 'subscribers.export',
  method: 'GET',
  path: '/lists/{listId}/subscribers/export',
  scope: 'read',
  summary: 'All subscribers of a list as CSV',
  description:
    'Streamed, newest first: email, name, status, source, subscribed_at, created_at; of a waitlist also waitlist_status, position, referral_code, referral_count. An import takes it back as it is.',
  params: UnderListParams,
  result: csvDownload,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    const key = { project_id: caller.project_id, list_id: params.listId }
    const list = await findList(database, key)
    if (!list) throw notFound('list')
    return { filename: `${list.subdomain}-subscribers.csv`, stream: await exportCsv(database, key) }
  },
})

const columns = ['email', 'name', 'status', 'source', 'subscribed_at', 'created_at']
const waitlistColumns = ['waitlist_status', 'position', 'referral_code', 'referral_count'] as const

export async function exportCsv(database: Database, key: ListKey): Promise<Readable> {
  const isWaitlist = (await findListType(database, key)) === 'waitlist'
  return csvStream([...columns, ...(isWaitlist ? waitlistColumns : [])], pagesOf(database, key, isWaitlist))
}

const pageSize = 5_000

/** Page by page rather than one long query: a slow reader must not keep a database session, or hold up the vacuum, for hours. */
async function* pagesOf(database: Database, key: ListKey, isWaitlist: boolean): AsyncGenerator<(string | null)[][]> {
  for (let after: string | null = null; ; ) {
    const rows = await pageSubscribers(database, { ...key, after, limit: pageSize })
    if (rows.length > 0) {
      yield (await withStandings(database, { type: isWaitlist ? 'waitlist' : 'newsletter' }, rows)).map((row) => [
        row.email,
        row.name,
        row.status,
        row.source,
        row.subscribed_at?.toISOString() ?? null,
        row.created_at.toISOString(),
        ...(isWaitlist ? waitlistColumns.map((column) => row[column]?.toString() ?? null) : []),
      ])
    }
    if (rows.length < pageSize) return
    after = rows.at(-1)?.id ?? null
  }
}

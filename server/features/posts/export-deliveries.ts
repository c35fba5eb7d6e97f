import { z } from 'zod'
import { csvStream } from '../../base/csv.ts'
import { notFound } from '../../base/errors.ts'
import { formatId } from '../../base/ids.ts'
import type { Database } from '../../database/database.ts'
import { csvDownload, defineOperation } from '../../operations/define-operation.ts'
import { type DeliveryRow, DeliveryStatus } from './delivery.ts'
import { pageDeliveries } from './delivery-queries.ts'
import { PostParams } from './post.ts'
import { findPost, keyOf, type PostKey } from './post-queries.ts'

const columns = [
  'email',
  'status',
  'attempts',
  'smtp_code',
  'enhanced_code',
  'reason',
  'sent_at',
  'settled_at',
  'opened_at',
  'open_count',
  'click_count',
] as const satisfies (keyof DeliveryRow)[]

export const exportDeliveries = defineOperation({
  id: 'deliveries.export',
  method: 'GET',
  path: '/lists/{listId}/posts/{postId}/deliveries/export',
  scope: 'read',
  summary: 'Who got a post, who did not, and why, as CSV',
  description: `Streamed, in the order in which they joined: ${columns.join(', ')}.`,
  params: PostParams,
  query: z.object({ status: DeliveryStatus.optional() }),
  result: csvDownload,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params, query }) {
    const key = keyOf(caller, params)
    if (!(await findPost(database, key))) throw notFound('post')
    const stream = csvStream([...columns], pagesOf(database, { ...key, status: query.status }))
    return { filename: `${formatId('post', key.post_id)}-deliveries.csv`, stream }
  },
})

const pageSize = 5_000

/** Page by page rather than one long query: a slow reader must not keep a database session, or hold up the vacuum, for hours. */
async function* pagesOf(database: Database, which: PostKey & { status?: DeliveryStatus | undefined }): AsyncGenerator<(string | null)[][]> {
  for (let after: string | null = null; ; ) {
    const rows: DeliveryRow[] = await pageDeliveries(database, { ...which, after, limit: pageSize })
    if (rows.length > 0) yield rows.map((row) => columns.map((name) => cellOf(row[name])))
    if (rows.length < pageSize) return
    after = rows.at(-1)?.subscriber_id ?? null
  }
}

const cellOf = (value: string | number | Date | null): string | null =>
  value === null ? null : value instanceof Date ? value.toISOString() : String(value)

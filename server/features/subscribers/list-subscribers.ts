import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { idPosition, pageOf, pageQuery, parseCursor } from '../../operations/page.ts'
import { findListType, UnderListParams } from '../lists/index.ts'
import { SubscriberStatus, SubscriberSummary } from './subscriber.ts'
import { pageSubscribers } from './subscriber-queries.ts'
import { withStandings } from './with-standings.ts'

export const listSubscribers = defineOperation({
  id: 'subscribers.list',
  method: 'GET',
  path: '/lists/{listId}/subscribers',
  scope: 'read',
  summary: 'The subscribers of a list, newest first',
  params: UnderListParams,
  query: z.object({
    status: SubscriberStatus.optional(),
    search: z.string().max(200).optional().meta({ description: 'Part of the person’s address or name' }),
    ...pageQuery,
  }),
  result: z.array(SubscriberSummary),
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params, query }) {
    const key = { project_id: caller.project_id, list_id: params.listId }
    const [after] = parseCursor(query.cursor, idPosition) ?? [null]
    const type = await findListType(database, key)
    if (!type) throw notFound('list')
    const { status, limit } = query
    const search = query.search?.trim() || undefined
    const rows = await pageSubscribers(database, { ...key, status, search, after, limit: limit + 1 })
    return pageOf(await withStandings(database, { type }, rows), limit, (row) => [row.id])
  },
})

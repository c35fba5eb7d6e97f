import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { listExists, UnderListParams } from '../lists/index.ts'
import { ListStats } from './stats.ts'
import { countSubscribers, sumBroadcasts } from './stats-queries.ts'

export const getListStats = defineOperation({
  id: 'stats.list',
  method: 'GET',
  path: '/stats/{listId}',
  scope: 'read',
  summary: 'The numbers of a list: its subscribers, and what was sent to them',
  params: UnderListParams,
  result: ListStats,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    const key = { project_id: caller.project_id, list_id: params.listId }
    if (!(await listExists(database, key))) throw notFound('list')
    const [subscribers, deliveries] = await Promise.all([countSubscribers(database, key), sumBroadcasts(database, key)])
    return { subscribers, deliveries }
  },
})

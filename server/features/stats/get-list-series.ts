import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { listExists, UnderListParams } from '../lists/index.ts'
import { seriesOf } from './series.ts'
import { Series, SeriesQuery, spanOf } from './stats.ts'

export const getListSeries = defineOperation({
  id: 'stats.list_series',
  method: 'GET',
  path: '/stats/{listId}/series',
  scope: 'read',
  summary: 'How a list grew and was read, by day, week or month',
  description:
    'Days are days of UTC. Each has a point, also when nothing happened; 400 points at most. A copy of a post counts on the day on which it was sent, by what is known of it now: one that bounces a week later is no longer among the delivered of that day.',
  params: UnderListParams,
  query: SeriesQuery,
  result: Series,
  status: 200,
  errors: ['not_found'],

  async run({ database, clock, caller }, { params, query }) {
    const key = { project_id: caller.project_id, list_id: params.listId }
    const span = spanOf(query, clock.now())
    if (!(await listExists(database, key))) throw notFound('list')
    return seriesOf(database, key, span)
  },
})

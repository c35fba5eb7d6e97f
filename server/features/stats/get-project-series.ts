import { defineOperation } from '../../operations/define-operation.ts'
import { seriesOf } from './series.ts'
import { Series, SeriesQuery, spanOf } from './stats.ts'

export const getProjectSeries = defineOperation({
  id: 'stats.project_series',
  method: 'GET',
  path: '/stats/series',
  scope: 'read',
  summary: 'How all lists together grew and were read, by day, week or month',
  description:
    'The points are those of `GET /stats/{listId}/series`, added up over the lists of the project. Lists that are deleted are not in it.',
  query: SeriesQuery,
  result: Series,
  status: 200,
  errors: [],

  run: ({ database, clock, caller }, { query }) =>
    seriesOf(database, { project_id: caller.project_id, list_id: null }, spanOf(query, clock.now())),
})

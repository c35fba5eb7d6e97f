import { defineOperation } from '../../operations/define-operation.ts'
import { ProjectStats } from './stats.ts'
import { findProjectStats } from './stats-queries.ts'

export const getProjectStats = defineOperation({
  id: 'stats.project',
  method: 'GET',
  path: '/stats',
  scope: 'read',
  summary: 'The numbers of the whole project',
  result: ProjectStats,
  status: 200,
  errors: [],

  run: ({ database, caller }) => findProjectStats(database, caller.project_id),
})

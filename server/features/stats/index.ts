import type { Operation } from '../../operations/define-operation.ts'
import { getListSeries } from './get-list-series.ts'
import { getListStats } from './get-list-stats.ts'
import { getPostStats } from './get-post-stats.ts'
import { getProjectSeries } from './get-project-series.ts'
import { getProjectStats } from './get-project-stats.ts'
import { listPostLinks } from './list-post-links.ts'
import { listPostStats } from './list-post-stats.ts'

export const statsOperations: Operation[] = [
  getProjectStats,
  getProjectSeries,
  getListStats,
  getListSeries,
  listPostStats,
  getPostStats,
  listPostLinks,
]

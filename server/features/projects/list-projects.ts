import { z } from 'zod'
import { standsForPerson } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { idPosition, Page, pageOf, pageQuery, parseCursor, unpagedLimit } from '../../operations/page.ts'
import { Project, toProject } from './project.ts'
import { pageProjects } from './project-queries.ts'

export const listProjects = defineOperation({
  id: 'projects.list',
  method: 'GET',
  path: '/api/projects',
  base: 'identity',
  scope: 'any',
  summary: 'The projects that the caller is a member of, newest first',
  description: 'A key that may do less than its maker sees the one project that it belongs to.',
  query: z.object({ cursor: pageQuery.cursor }),
  result: z.array(Project),
  status: 200,
  errors: [],

  async run({ database, caller }, { query }) {
    const [after] = parseCursor(query.cursor, idPosition) ?? [null]
    const only = standsForPerson(caller) ? null : caller.project_id
    const rows = await pageProjects(database, { user_id: caller.user_id, only, after, limit: unpagedLimit + 1 })
    const page = pageOf(rows, unpagedLimit, (row) => [row.id])
    return new Page(page.items.map(toProject), page.next)
  },
})

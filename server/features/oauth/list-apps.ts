import { z } from 'zod'
import { defineOperation } from '../../operations/define-operation.ts'
import { idPosition, pageOf, pageQuery, parseCursor, unpagedLimit } from '../../operations/page.ts'
import { App } from './oauth.ts'
import { pageGrants } from './oauth-queries.ts'

export const listApps = defineOperation({
  id: 'apps.list',
  method: 'GET',
  path: '/api/apps',
  base: 'identity',
  scope: 'admin',
  summary: 'The apps that members have let into the project, newest first',
  query: z.object({ cursor: pageQuery.cursor }),
  result: z.array(App),
  status: 200,
  errors: [],

  async run({ database, caller }, { query }) {
    const [after] = parseCursor(query.cursor, idPosition) ?? [null]
    return pageOf(await pageGrants(database, caller.project_id, after, unpagedLimit + 1), unpagedLimit, (row) => [row.id])
  },
})

import { z } from 'zod'
import { defineOperation } from '../../operations/define-operation.ts'
import { idPosition, pageOf, pageQuery, parseCursor, unpagedLimit } from '../../operations/page.ts'
import { WebhookSummary } from './webhook.ts'
import { pageWebhooks } from './webhook-queries.ts'

export const listWebhooks = defineOperation({
  id: 'webhooks.list',
  method: 'GET',
  path: '/webhooks',
  scope: 'read',
  summary: 'All webhooks of the project, newest first',
  query: z.object({ cursor: pageQuery.cursor }),
  result: z.array(WebhookSummary),
  status: 200,
  errors: [],

  async run({ database, caller }, { query }) {
    const [after] = parseCursor(query.cursor, idPosition) ?? [null]
    return pageOf(await pageWebhooks(database, caller.project_id, after, unpagedLimit + 1), unpagedLimit, (row) => [row.id])
  },
})

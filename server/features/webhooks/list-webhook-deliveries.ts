import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { idPosition, pageOf, parseCursor } from '../../operations/page.ts'
import { pageDeliveries } from './delivery-queries.ts'
import { DeliveryQuery, WebhookDelivery, WebhookParams } from './webhook.ts'
import { findWebhook } from './webhook-queries.ts'

export const listWebhookDeliveries = defineOperation({
  id: 'webhooks.list_deliveries',
  method: 'GET',
  path: '/webhooks/{id}/deliveries',
  scope: 'read',
  summary: 'What was sent to a webhook, newest first',
  description: 'Of the last 30 days. `pending` waits for its first attempt or for another one.',
  params: WebhookParams,
  query: DeliveryQuery,
  result: z.array(WebhookDelivery),
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params, query: { cursor, limit, status, event_type } }) {
    const key = { project_id: caller.project_id, webhook_id: params.id }
    const [after] = parseCursor(cursor, idPosition) ?? [null]
    if (!(await findWebhook(database, key))) throw notFound('webhook')
    return pageOf(await pageDeliveries(database, { ...key, status, event_type, after, limit: limit + 1 }), limit, (row) => [row.id])
  },
})

import type { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { bodyOfDelivery, findDelivery } from './delivery-queries.ts'
import { unsignedHeaders } from './sign-delivery.ts'
import { WebhookDeliveryDetail, WebhookDeliveryParams, type WebhookDeliveryRow } from './webhook.ts'
import { findWebhook } from './webhook-queries.ts'

export const getWebhookDelivery = defineOperation({
  id: 'webhooks.get_delivery',
  method: 'GET',
  path: '/webhooks/{id}/deliveries/{deliveryId}',
  scope: 'read',
  summary: 'One delivery, with what was sent and what came back',
  description:
    'The body is made from the event, not kept: what was erased from the event since is not in it. Signatures are left out, because whoever had one could pass for us.',
  params: WebhookDeliveryParams,
  result: WebhookDeliveryDetail,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    const key = { project_id: caller.project_id, webhook_id: params.id }
    const webhook = await findWebhook(database, key)
    if (!webhook) throw notFound('webhook')
    const delivery = await findDelivery(database, { ...key, delivery_id: params.deliveryId })
    if (!delivery) throw notFound('delivery')
    const request = { url: webhook.url, headers: headersOfLast(delivery), body: await bodyOfDelivery(database, delivery) }
    return { ...delivery, next_attempt_at: delivery.next_at, request, response: responseOf(delivery) }
  },
})

const headersOfLast = ({ id, event_id, event_type, attempted_at, created_at }: WebhookDeliveryRow) =>
  unsignedHeaders({ delivery_id: id, event_id, type: event_type, now: attempted_at ?? created_at })

const responseOf = ({
  http_status,
  response_headers,
  response_body,
}: WebhookDeliveryRow): z.output<typeof WebhookDeliveryDetail>['response'] =>
  http_status === null ? null : { status: http_status, headers: response_headers ?? {}, body: response_body ?? '' }

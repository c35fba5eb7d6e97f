import { notFound } from '../../base/errors.ts'
import type { Services } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { callEndpoint } from './deliver/call-endpoint.ts'
import { insertTest, settleTest } from './delivery-queries.ts'
import { openSecrets } from './sign-delivery.ts'
import { TestResult, testBodyOf, testType, type WebhookDeliveryRow, WebhookParams, type WebhookRow } from './webhook.ts'
import { lockWebhook } from './webhook-queries.ts'

export const testWebhook = defineOperation({
  id: 'webhooks.test',
  method: 'POST',
  path: '/webhooks/{id}/test',
  scope: 'write',
  summary: 'Send a test to a webhook and answer what came of it',
  description:
    'Sends `webhook.test`, signed like any event, and waits up to 10 seconds for the endpoint. It is tried once and counts for nothing, and works for a paused or disabled webhook as well. The delivery says more: what was sent, what was answered, and why it failed.',
  params: WebhookParams,
  result: TestResult,
  status: 200,
  errors: ['not_found'],

  async run(context, { params }) {
    const { database, caller } = context
    // Committed before the request goes out: the receiver may ask for its delivery at once.
    const { webhook, delivery } = await database.transaction(async (tx) => {
      const webhook = await lockWebhook(tx, { project_id: caller.project_id, webhook_id: params.id })
      if (!webhook) throw notFound('webhook')
      return { webhook, delivery: await insertTest(tx, webhook, { next_at: null }) }
    })
    const { status, http_status, duration_ms } = await carryOut(context, webhook, delivery)
    return { delivery_id: delivery.id, status, http_status, duration_ms }
  },
})

async function carryOut(services: Services, webhook: WebhookRow, delivery: WebhookDeliveryRow) {
  const endpoint = { url: webhook.url, signing: openSecrets(services.secrets, webhook) }
  const outcome = await callEndpoint(services, endpoint, {
    delivery_id: delivery.id,
    event_id: delivery.event_id,
    type: testType,
    body: testBodyOf(delivery),
  })
  await services.database.transaction((tx) => settleTest(tx, delivery, outcome))
  return outcome
}

import { invalid, notFound } from '../../base/errors.ts'
import { Seats } from '../../base/seats.ts'
import type { Services } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { callEndpoint } from './deliver/call-endpoint.ts'
import { insertTest, settleTest } from './delivery-queries.ts'
import { openOrNull, openSecrets } from './sign-delivery.ts'
import { TestResult, testBodyOf, testType, type WebhookDeliveryRow, WebhookParams, type WebhookRow } from './webhook.ts'
import { lockWebhook } from './webhook-queries.ts'

const mostTests = 4
/** Each waits up to ten seconds for an address that somebody else has named. */
const seats = new Seats({
  ofKey: mostTests,
  ofProject: mostTests,
  ofProcess: 200,
  doing: 'waits for tests of webhooks',
  tooMany: 'Too many tests of webhooks are under way just now. Ask again in a moment.',
})

export const testWebhook = defineOperation({
  id: 'webhooks.test',
  method: 'POST',
  path: '/webhooks/{id}/test',
  scope: 'write',
  summary: 'Send a test to a webhook and answer what came of it',
  description:
    'Sends `webhook.test`, signed like any event, and waits up to 10 seconds for the endpoint. It is tried once and counts for nothing, and works for a paused or disabled webhook as well. A project can wait for four of them at once; then it is 429. The delivery says more: what was sent, what was answered, and why it failed.',
  params: WebhookParams,
  result: TestResult,
  status: 200,
  errors: ['not_found'],

  async run(context, { params }) {
    const { database, secrets, caller } = context
    const ended = new AbortController()
    seats.take(caller, ended.signal)
    try {
      // Committed before the request goes out: the receiver may ask for its delivery at once.
      const { webhook, delivery } = await database.transaction(async (tx) => {
        const webhook = await lockWebhook(tx, { project_id: caller.project_id, webhook_id: params.id })
        if (!webhook) throw notFound('webhook')
        if (openOrNull(secrets, webhook.id, webhook.secret) === null)
          throw invalid('id', 'this server cannot read the webhook’s secret any more. Rotate it with POST /webhooks/{id}/rotate-secret')
        return { webhook, delivery: await insertTest(tx, webhook, { next_at: null }) }
      })
      const { status, http_status, duration_ms } = await carryOut(context, webhook, delivery)
      return { delivery_id: delivery.id, status, http_status, duration_ms }
    } finally {
      ended.abort()
    }
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

import { invalid, notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { eventIsKept, findDelivery, findPendingReplay, insertDelivery } from './delivery-queries.ts'
import { testType, WebhookDelivery, WebhookDeliveryParams } from './webhook.ts'
import { lockWebhook } from './webhook-queries.ts'

export const replayWebhookDelivery = defineOperation({
  id: 'webhooks.replay_delivery',
  method: 'POST',
  path: '/webhooks/{id}/deliveries/{deliveryId}/replay',
  scope: 'write',
  summary: 'Send the event of a delivery once more',
  description:
    'Makes a new delivery of the same event and answers it while it waits to be sent: its id is new, `event_id` (`webhook-id`) stays, so that a receiver can tell. It goes to the address that the webhook has now and is retried like any other. While a replay of the event waits, asking for another answers that one. The webhook must be active, and the event at most 30 days old. Tests cannot be replayed: `POST /webhooks/{id}/test` sends another.',
  params: WebhookDeliveryParams,
  result: WebhookDelivery,
  status: 202,
  errors: ['not_found', 'validation_error'],

  async run({ database, caller }, { params }) {
    const key = { project_id: caller.project_id, webhook_id: params.id }
    return database.transaction(async (tx) => {
      const webhook = await lockWebhook(tx, key)
      if (!webhook) throw notFound('webhook')
      const delivery = await findDelivery(tx, { ...key, delivery_id: params.deliveryId })
      if (!delivery) throw notFound('delivery')
      if (delivery.event_type === testType)
        throw invalid('deliveryId', 'is a test, which is no event. POST /webhooks/{id}/test sends another one')
      if (webhook.status !== 'active')
        throw invalid('id', `the webhook is ${webhook.status}, so nothing is sent to it. Set its status to active first`)
      if (!(await eventIsKept(tx, delivery)))
        throw invalid('deliveryId', 'its event is no longer kept, so there is nothing to send. Events are kept for 30 days')
      return (await findPendingReplay(tx, delivery)) ?? insertDelivery(tx, webhook, { ...delivery, next_at: tx.now, isReplay: true })
    })
  },
})

import type { Operation } from '../../operations/define-operation.ts'
import { createWebhook } from './create-webhook.ts'
import { deleteWebhook } from './delete-webhook.ts'
import { getWebhook } from './get-webhook.ts'
import { getWebhookDelivery } from './get-webhook-delivery.ts'
import { listWebhookDeliveries } from './list-webhook-deliveries.ts'
import { listWebhooks } from './list-webhooks.ts'
import { replayWebhookDelivery } from './replay-webhook-delivery.ts'
import { rotateWebhookSecret } from './rotate-webhook-secret.ts'
import { testWebhook } from './test-webhook.ts'
import { updateWebhook } from './update-webhook.ts'

export const webhookOperations: Operation[] = [
  listWebhooks,
  createWebhook,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  testWebhook,
  rotateWebhookSecret,
  listWebhookDeliveries,
  getWebhookDelivery,
  replayWebhookDelivery,
]

export { purgeWebhook } from './delete-webhook.ts'
export { boundWebhookQueues } from './deliver/bound-queues.ts'
export { pruneWebhookDeliveries } from './deliver/prune-deliveries.ts'
export { createWebhooks } from './deliver/start-webhooks.ts'
export { eraseAnswers } from './delivery-queries.ts'
export { moveWebhooks } from './webhook-queries.ts'

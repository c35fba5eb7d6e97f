import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { openOrNull } from './sign-delivery.ts'
import { toWebhookDetail, WebhookDetail, WebhookParams } from './webhook.ts'
import { findWebhook } from './webhook-queries.ts'

export const getWebhook = defineOperation({
  id: 'webhooks.get',
  method: 'GET',
  path: '/webhooks/{id}',
  scope: 'read',
  summary: 'One webhook',
  params: WebhookParams,
  result: WebhookDetail,
  status: 200,
  errors: ['not_found'],

  async run({ database, secrets, caller }, { params }) {
    const webhook = await findWebhook(database, { project_id: caller.project_id, webhook_id: params.id })
    if (!webhook) throw notFound('webhook')
    return toWebhookDetail(webhook, openOrNull(secrets, webhook.id, webhook.secret))
  },
})

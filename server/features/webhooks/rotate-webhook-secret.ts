import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { tellOfChange } from './deliver/queue-queries.ts'
import { sealSecret } from './sign-delivery.ts'
import { CreatedWebhook, makeWebhookSecret, overlapHours, WebhookParams } from './webhook.ts'
import { lockWebhook, replaceSecret } from './webhook-queries.ts'

export const rotateWebhookSecret = defineOperation({
  id: 'webhooks.rotate_secret',
  method: 'POST',
  path: '/webhooks/{id}/rotate-secret',
  scope: 'write',
  summary: 'Give a webhook a new secret',
  description: `The new secret is in the answer, once. For ${overlapHours} hours \`webhook-signature\` has two signatures, by the new secret and by the one before, so that a receiver can change over at any moment in between. \`X-Service-Signature\` has room for one and is by the new secret at once. A second rotation within these hours ends the first secret.`,
  params: WebhookParams,
  result: CreatedWebhook,
  status: 200,
  errors: ['not_found'],

  async run({ database, secrets, caller }, { params }) {
    const key = { project_id: caller.project_id, webhook_id: params.id }
    const secret = makeWebhookSecret()
    return database.transaction(async (tx) => {
      if (!(await lockWebhook(tx, key))) throw notFound('webhook')
      const until = new Date(tx.now.getTime() + overlapHours * 3_600_000)
      const webhook = await replaceSecret(tx, key, { secret: sealSecret(secrets, params.id, secret), until })
      tellOfChange(tx, webhook.id)
      return { ...webhook, secret }
    })
  },
})

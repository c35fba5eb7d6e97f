import { notFound } from '../../base/errors.ts'
import { dropInterest } from '../../events/interests.ts'
import { defineJob } from '../../jobs/jobs.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { removeQueue } from './deliver/queue-queries.ts'
import { removeDeliveries } from './delivery-queries.ts'
import { interestOf, WebhookParams } from './webhook.ts'
import { deleteWebhookRow, type WebhookKey } from './webhook-queries.ts'

export const deleteWebhook = defineOperation({
  id: 'webhooks.delete',
  method: 'DELETE',
  path: '/webhooks/{id}',
  scope: 'write',
  summary: 'Delete a webhook and its deliveries',
  description: 'Nothing more is sent, except for a request that is under way at this moment.',
  params: WebhookParams,
  status: 204,
  errors: ['not_found'],

  async run({ database, caller, jobs }, { params }) {
    const key = { project_id: caller.project_id, webhook_id: params.id }
    await database.transaction(async (tx) => {
      if (!(await deleteWebhookRow(tx, key))) throw notFound('webhook')
      await removeQueue(tx, key)
      await dropInterest(tx, interestOf({ project_id: key.project_id, id: key.webhook_id }))
      await jobs.enqueue(tx, purgeWebhook, key)
    })
  },
})

const chunk = 5_000

/** Its log may have a million rows: they go in pieces, so that nobody waits for them. */
export const purgeWebhook = defineJob<WebhookKey>({
  name: 'webhooks.purge',
  async run({ database }, key) {
    while ((await removeDeliveries(database, key, chunk)) > 0);
  },
})

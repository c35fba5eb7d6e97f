import { notFound } from '../../base/errors.ts'
import { dropInterest, setInterest } from '../../events/interests.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { rouseQueue, tellOfChange } from './deliver/queue-queries.ts'
import { refuseUnreachable } from './refuse-unreachable.ts'
import { openOrNull } from './sign-delivery.ts'
import { interestOf, toWebhookDetail, WebhookChanges, WebhookDetail, WebhookParams, withoutRepeats } from './webhook.ts'
import { lockWebhook, saveWebhook } from './webhook-queries.ts'

export const updateWebhook = defineOperation({
  id: 'webhooks.update',
  method: 'PATCH',
  path: '/webhooks/{id}',
  scope: 'write',
  summary: 'Change a webhook’s address or events, pause it, or put it back to work',
  description:
    'Fields left out stay as they are. What happens while a webhook is paused or disabled is not sent to it later. Deliveries that wait when it is paused go on waiting, and those that wait when its address changes go to the new one. `active` forgets past failures.',
  params: WebhookParams,
  body: WebhookChanges,
  result: WebhookDetail,
  status: 200,
  errors: ['not_found'],

  async run({ database, guardedFetch, secrets, caller }, { params, body }) {
    if (body.url !== undefined) await refuseUnreachable(guardedFetch, body.url)
    const key = { project_id: caller.project_id, webhook_id: params.id }
    return database.transaction(async (tx) => {
      const before = await lockWebhook(tx, key)
      if (!before) throw notFound('webhook')
      const { url = before.url, status = before.status } = body
      const events = body.events ? withoutRepeats(body.events) : before.events
      const webhook = await saveWebhook(tx, { ...before, url, events, status }, { isStatusSet: body.status !== undefined })
      if (status === 'active') await setInterest(tx, { ...interestOf(webhook), types: events })
      else await dropInterest(tx, interestOf(webhook))
      if (status === 'active' && before.status !== 'active') await rouseQueue(tx, key)
      tellOfChange(tx, webhook.id)
      return toWebhookDetail(webhook, openOrNull(secrets, webhook.id, webhook.secret))
    })
  },
})

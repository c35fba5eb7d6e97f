import { invalid } from '../../base/errors.ts'
import { newId } from '../../base/ids.ts'
import { setInterest } from '../../events/interests.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { insertTest } from './delivery-queries.ts'
import { refuseUnreachable } from './refuse-unreachable.ts'
import { sealSecret } from './sign-delivery.ts'
import { CreatedWebhook, interestOf, makeWebhookSecret, maxWebhooks, NewWebhook, withoutRepeats } from './webhook.ts'
import { countWebhooksAlone, insertWebhook } from './webhook-queries.ts'

export const createWebhook = defineOperation({
  id: 'webhooks.create',
  method: 'POST',
  path: '/webhooks',
  scope: 'write',
  summary: 'Have events sent to an address',
  description: `The secret is in the answer, once; docs/webhooks.md shows how to verify with it. A test (\`webhook.test\`) is sent to the address right after the answer, so that you know the secret when it comes. Whether it arrived is among the deliveries; the webhook works either way. The address must be public and https; where its name leads is looked up now and again at every delivery. A project has at most ${maxWebhooks} webhooks.`,
  body: NewWebhook,
  result: CreatedWebhook,
  status: 201,
  errors: [],

  async run({ database, guardedFetch, secrets, caller }, { body }) {
    await refuseUnreachable(guardedFetch, body.url)
    const { project_id } = caller
    const id = newId<'whk'>()
    const secret = makeWebhookSecret()
    const events = withoutRepeats(body.events)
    return database.transaction(async (tx) => {
      if ((await countWebhooksAlone(tx, project_id)) >= maxWebhooks)
        throw invalid('url', `cannot be added: the project has ${maxWebhooks} webhooks, and there is no room for more. Delete one first`)
      const webhook = await insertWebhook(tx, { project_id, id, url: body.url, events, secret: sealSecret(secrets, id, secret) })
      await setInterest(tx, { ...interestOf(webhook), types: events })
      await insertTest(tx, webhook, { next_at: tx.now })
      return { ...webhook, secret }
    })
  },
})

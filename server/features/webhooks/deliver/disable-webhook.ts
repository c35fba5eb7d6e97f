import type { Transaction } from '../../../database/database.ts'
import { dropInterest } from '../../../events/interests.ts'
import type { Services } from '../../../operations/context.ts'
import { notifyOwners } from '../../identity/index.ts'
import { interestOf } from '../webhook.ts'
import type { WebhookKey } from '../webhook-queries.ts'
import { endQueue } from './queue-queries.ts'

/** Events in a row whose attempts were all used up. */
export const mostFailures = 10

export type DisabledReason = 'consecutive_failures' | 'gone' | 'secret_unreadable'

/** An endpoint that is not there any more is left alone, until somebody sets it active again. False when it was not active. */
export const disableWebhook = (
  services: Pick<Services, 'database' | 'config'>,
  key: WebhookKey,
  reason: DisabledReason,
): Promise<boolean> =>
  services.database.transaction(async (tx) => {
    const webhook = await markDisabled(tx, key, reason)
    if (!webhook) return false
    await dropInterest(tx, interestOf({ project_id: key.project_id, id: key.webhook_id }))
    await endQueue(tx, key)
    await notifyOwners(services, tx, { project_id: key.project_id, ...noticeOf(webhook.url, reason) })
    return true
  })

/** Whoever set it active meanwhile has forgiven its failures. */
const markDisabled = (tx: Transaction, { project_id, webhook_id }: WebhookKey, reason: DisabledReason) => tx.first<{ url: string }>`
  update webhooks set status = 'disabled', disabled_at = ${tx.now}, disabled_reason = ${reason}, updated_at = ${tx.now}
  where project_id = ${project_id} and id = ${webhook_id} and status = 'active' and (${reason} <> 'consecutive_failures' or consecutive_failures >= ${mostFailures})
  returning url`

const seeLog =
  'Its deliveries say what went wrong each time (GET /webhooks/{id}/deliveries). Mend the endpoint, then set the webhook’s status to active again.'

const why: Record<DisabledReason, string> = {
  consecutive_failures: `${mostFailures} events in a row could not be delivered to it, however often they were tried.`,
  gone: 'It answered with 410, which means that it is gone for good.',
  secret_unreadable: 'This server cannot read its signing secret any more, so nothing can be signed for it.',
}

const mending: Record<DisabledReason, string> = {
  consecutive_failures: seeLog,
  gone: seeLog,
  secret_unreadable:
    'Give it a new secret (POST /webhooks/{id}/rotate-secret) and the new secret to your endpoint, then set the webhook’s status to active again.',
}

const noticeOf = (url: string, reason: DisabledReason) => ({
  kind: 'webhook_disabled',
  subject: 'A webhook was switched off',
  parts: [
    `Nothing more is sent to the webhook at ${new URL(url).host}. ${why[reason]}`,
    mending[reason],
    'What happens until then is not sent to it later. Deliveries that failed can be replayed for 30 days.',
  ],
})

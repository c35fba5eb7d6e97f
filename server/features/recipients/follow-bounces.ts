import { formatId, type Id, type IdPrefix } from '../../base/ids.ts'
import { type Loop, startLoop } from '../../base/loop.ts'
import type { Transaction } from '../../database/database.ts'
import { publishBulk } from '../../events/publish.ts'
import { classifyFailure } from '../../mail/reports/classify.ts'
import type { Services } from '../../operations/context.ts'
import { drawConsequences } from './give-up-address.ts'
import { type RecipientRow, recipientEventData } from './recipient.ts'
import { lockUnfollowed, markFollowed } from './recipient-queries.ts'
import { wantsEvent } from './wants-event.ts'

/** Small, so that the transaction holds up neither the engine nor the consumers of events. */
const batchSize = 100
const everyMs = 500

/**
 * What the receiving server refuses at once is settled by the engine, which knows no subscribers. This goes after it: the row itself says
 * whether it was followed, in the transaction that draws the consequences, so that none is lost and none counts twice.
 */
export const startFollowingBounces = (services: Pick<Services, 'database' | 'log'>): Loop =>
  startLoop({ name: 'follow bounces', log: services.log, everyMs, step: () => followBounces(services) })

/** One batch. True when there may be more. */
export const followBounces = ({ database }: Pick<Services, 'database'>): Promise<boolean> =>
  database.transaction(async (tx) => {
    const recipients = await lockUnfollowed(tx, batchSize)
    if (recipients.length === 0) return false
    await markFollowed(tx, recipients)
    for (const recipient of recipients) await drawConsequences(tx, recipient, failureOf(recipient, tx.now))
    const bounced = recipients.filter(({ status }) => status === 'bounced')
    for (const ofBroadcast of Map.groupBy(bounced, ({ broadcast_id }) => broadcast_id).values()) await tell(tx, ofBroadcast)
    return recipients.length === batchSize
  })

function failureOf({ smtp_code, enhanced_code, reason, settled_at }: RecipientRow, now: Date) {
  const verdict = classifyFailure(enhanced_code, `${smtp_code ?? ''} ${reason ?? ''}`)
  return { ...verdict, reason: reason ?? verdict.reason, at: settled_at ?? now }
}

/** One row of the outbox for all of a broadcast. */
async function tell(tx: Transaction, recipients: RecipientRow[]): Promise<void> {
  const first = recipients[0] as RecipientRow
  if (!(await wantsEvent(tx, first.project_id, 'email.bounced'))) return
  const { mailbox_id, list_id, post_id, from, subject } = recipientEventData(first)
  await publishBulk(tx, first.project_id, 'email.bounced', {
    template: {
      email_id: '$0',
      mailbox_id: '$1',
      list_id: '$2',
      post_id: '$3',
      subscriber_id: '$4',
      contact_id: '$5',
      from: '$6',
      to: '$7',
      subject: '$8',
      message_id: '$9',
      tag: null,
      metadata: {},
    },
    rows: recipients.map((recipient) => {
      const { email_id, subscriber_id, contact_id, to, message_id } = recipientEventData(recipient)
      return [
        formatId('eml', email_id),
        shown('mbx', mailbox_id),
        formatId('lst', list_id),
        formatId('post', post_id),
        formatId('sub', subscriber_id),
        formatId('con', contact_id),
        from,
        to,
        subject,
        message_id,
      ]
    }),
  })
}

const shown = <Prefix extends IdPrefix>(prefix: Prefix, id: Id<Prefix> | null): string | null => id && formatId(prefix, id)

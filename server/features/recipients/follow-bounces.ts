import { type Loop, startLoop } from '../../base/loop.ts'
import { publishOfRecipients } from '../../events/publish-of-recipients.ts'
import type { Services } from '../../operations/context.ts'
import { followMessages } from './apply-single-report.ts'
import { followCopies } from './follow-copies.ts'
import { drawAllConsequences, failureOf } from './give-up-address.ts'
import { bounceDataOf } from './recipient.ts'
import { lockUnfollowed, markFollowed } from './recipient-queries.ts'

/** Small, so that the transaction holds up neither the engine nor the consumers of events. */
const batchSize = 100
const everyMs = 500

/**
 * What the receiving server refuses at once is settled by the engine, which knows no subscribers. This goes after it: the row itself says
 * whether it was followed, in the transaction that draws the consequences, so that none is lost and none counts twice.
 */
export const startFollowingBounces = (services: Pick<Services, 'database' | 'log'>): Loop =>
  startLoop({
    name: 'follow bounces',
    log: services.log,
    everyMs,
    step: async () => {
      const hasMore = [
        await followBounces(services),
        await services.database.transaction((tx) => followMessages(tx, batchSize)),
        await services.database.transaction((tx) => followCopies(tx, batchSize)),
      ]
      return hasMore.includes(true)
    },
  })

/** One batch of recipients of broadcasts. True when there may be more. */
export const followBounces = ({ database }: Pick<Services, 'database'>): Promise<boolean> =>
  database.transaction(async (tx) => {
    const recipients = await lockUnfollowed(tx, batchSize)
    if (recipients.length === 0) return false
    await markFollowed(tx, recipients)
    await drawAllConsequences(
      tx,
      recipients.map((recipient) => ({ to: recipient, failure: failureOf(recipient, tx.now) })),
    )
    const bounced = recipients.filter(({ status }) => status === 'bounced')
    await publishOfRecipients(
      tx,
      bounced.map((copy) => ({ type: 'email.bounced', copy, bounce: bounceDataOf(copy) })),
    )
    return recipients.length === batchSize
  })

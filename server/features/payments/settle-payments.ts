import { defineJob } from '../../jobs/jobs.ts'
import type { Services } from '../../operations/context.ts'
import { keepAsAllowance } from './book-emails.ts'
import { findPayment } from './charge.ts'
import { type ChallengeRow, retryLastsMs } from './payment.ts'
import { closeChallenge, listStuckChallenges } from './payment-queries.ts'

/** Long enough for whoever wants to send the same credential again. */
const waitMs = 3_600_000
const batch = 500

/**
 * Every hour: payments whose answer was lost and whose sender has not come back. What was taken is theirs to use; a challenge for which
 * nothing was taken is closed once nobody may go on with it.
 */
export const settlePayments = defineJob<object>({
  name: 'payments.settle',
  schedule: '25 * * * *',
  async run(services: Services) {
    const before = new Date(services.clock.now().getTime() - waitMs)
    for (const challenge of await listStuckChallenges(services.database, before, batch)) await settle(services, challenge)
  },
})

async function settle(services: Services, challenge: ChallengeRow): Promise<void> {
  const { database, clock } = services
  const reference = await findPayment(services, challenge.id)
  if (reference === 'unknown') return
  if (reference !== null) return keepAsAllowance(services, challenge, reference)
  const isOver = clock.now().getTime() - challenge.created_at.getTime() > retryLastsMs
  if (isOver) await closeChallenge(database, challenge, { from: 'charging', at: clock.now() })
}

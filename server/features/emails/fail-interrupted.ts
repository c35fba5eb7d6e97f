import { defineJob } from '../../jobs/jobs.ts'
import { emptyFailedEmails, failInterruptedEmails } from './email-queries.ts'

/** Hardly any server takes this long, so whoever was sending has died; who has not, settles it all the same. Which side of the final dot it died on, nobody can tell any more. */
const givenUpAfterMs = 15 * 60_000
/** As long as an Idempotency-Key lives. */
const keptMs = 24 * 3_600_000

export const failInterrupted = defineJob<object>({
  name: 'emails.fail_interrupted',
  schedule: '*/10 * * * *',
  async run({ database, clock }) {
    await failInterruptedEmails(database, new Date(clock.now().getTime() - givenUpAfterMs))
    await emptyFailedEmails(database, new Date(clock.now().getTime() - keptMs))
  },
})

import { defineJob } from '../../jobs/jobs.ts'
import type { Services } from '../../operations/context.ts'
import { moveRest } from './move-rest.ts'
import { noteStep } from './registration-audit.ts'
import { deleteExpired, findRecentMerges } from './registration-queries.ts'

const followedMs = 7 * 24 * 3_600_000

/** Every night: claims that nobody completed are forgotten, and what a merge left behind follows. */
export const lookAfterAgents = defineJob<object>({
  name: 'agents.look_after',
  schedule: '50 3 * * *',
  async run(services) {
    while (await forgetExpired(services));
    await moveWhatWasLeft(services)
  },
})

/** The agents themselves stay: their keys go on working. True when there may be more. */
const forgetExpired = ({ database }: Services): Promise<boolean> =>
  database.transaction(async (tx) => {
    const expired = await deleteExpired(tx)
    for (const registration of expired) await noteStep(tx, 'registration.expired', { registration, request_id: 'agents.look_after' })
    return expired.length > 0
  })

/** Mail on its way may need days. */
async function moveWhatWasLeft(services: Services): Promise<void> {
  const since = new Date(services.clock.now().getTime() - followedMs)
  for (const move of await findRecentMerges(services.database, since)) await moveRest.run(services, move)
}

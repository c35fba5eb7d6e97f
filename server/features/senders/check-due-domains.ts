import { reasonOf } from '../../base/errors.ts'
import { defineJob } from '../../jobs/jobs.ts'
import type { Services } from '../../operations/context.ts'
import { checkDomain } from './check-domain.ts'
import { giveUpUnused } from './give-up-unused.ts'
import { claimDue, type DomainKeyParts } from './sender-queries.ts'

const atOnce = 8
/** What is left over is taken a minute later. */
const mostAtATime = 400

/** Every minute, those whose turn it is. One whose name servers hang holds up seven others at most, for a few seconds. */
export const checkDueDomains = defineJob<object>({
  name: 'senders.check',
  schedule: '* * * * *',
  retryLimit: 0,
  async run(services: Services) {
    for (let done = 0; done < mostAtATime; ) {
      const due = await claimDue(services.database, { now: services.clock.now(), limit: atOnce })
      await Promise.all(due.map((key) => checkOne(services, key)))
      done += due.length
      if (due.length < atOnce) return
    }
  },
})

async function checkOne(services: Services, key: DomainKeyParts): Promise<void> {
  try {
    if (await services.database.transaction((tx) => giveUpUnused(tx, key))) return
    await checkDomain(services, key, { isAsked: false })
  } catch (error) {
    services.log.warn({ domain: key.domain, reason: reasonOf(error) }, 'a sender’s domain could not be checked and is looked at again')
  }
}

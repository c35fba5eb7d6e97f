import { defineJob } from '../../jobs/jobs.ts'
import type { Services } from '../../operations/context.ts'
import { checkDue } from '../dns-records/index.ts'
import { checkDomain } from './check-domain.ts'
import { giveUpUnused } from './give-up-unused.ts'
import { claimDue, type DomainKeyParts } from './sender-queries.ts'

/** Every minute, those whose turn it is. */
export const checkDueDomains = defineJob<object>({
  name: 'senders.check',
  schedule: '* * * * *',
  retryLimit: 0,
  run: (services: Services) =>
    checkDue(services, {
      claim: (turn) => claimDue(services.database, turn),
      check: (key) => checkOne(services, key),
    }),
})

async function checkOne(services: Services, key: DomainKeyParts): Promise<void> {
  if (await services.database.transaction((tx) => giveUpUnused(tx, key))) return
  await checkDomain(services, key, { isAsked: false })
}

import { defineJob } from '../../jobs/jobs.ts'
import type { Services } from '../../operations/context.ts'
import { checkDue } from '../dns-records/index.ts'
import { checkDomain } from './check-domain.ts'
import { claimDue } from './site-domain-queries.ts'

/** Every minute, those whose turn it is. */
export const checkDueSiteDomains = defineJob<object>({
  name: 'site_domains.check',
  schedule: '* * * * *',
  retryLimit: 0,
  run: (services: Services) =>
    checkDue(services, {
      claim: (turn) => claimDue(services.database, turn),
      check: (key) => checkDomain(services, key, { isAsked: false }),
    }),
})

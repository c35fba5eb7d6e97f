import { defineJob } from '../../jobs/jobs.ts'
import type { Services } from '../../operations/context.ts'
import { pruneRecords } from './oauth-queries.ts'

/** Every night, tokens that have ended, apps that nobody let in for thirty days, and grants that nothing can use any more. */
export const pruneOAuth = defineJob<object>({
  name: 'oauth.prune',
  schedule: '55 3 * * *',
  async run({ database, clock }: Services) {
    while ((await pruneRecords(database, clock.now())) > 0);
  },
})

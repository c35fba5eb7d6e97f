import { defineJob } from '../../jobs/jobs.ts'
import type { Services } from '../../operations/context.ts'
import { pruneCodes, pruneSignInLinks } from '../identity/index.ts'
import { pruneSessions } from './session-queries.ts'

/** Every night: sessions, codes and links that are over. */
export const pruneSignIns = defineJob<object>({
  name: 'sessions.prune',
  schedule: '50 3 * * *',
  async run({ database, clock }: Services) {
    await pruneSessions(database, clock.now())
    await pruneCodes(database, clock.now())
    await pruneSignInLinks(database, clock.now())
  },
})

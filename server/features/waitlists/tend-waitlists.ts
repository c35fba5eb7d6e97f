import { defineJob } from '../../jobs/jobs.ts'
import { forgetAttempts } from '../subscribers/index.ts'
import { dropUnconfirmed, repairLine } from '../waiting-lines/index.ts'
import { waitlists } from './waitlist-queries.ts'

const dayMs = 24 * 3_600_000

/** Every night: who never confirmed leaves the line, and every line is held against its subscribers. */
export const tendWaitlists = defineJob<object>({
  name: 'waitlists.tend',
  schedule: '25 3 * * *',
  async run({ database, clock }) {
    await forgetAttempts(database, new Date(clock.now().getTime() - dayMs))
    await dropUnconfirmed(database, clock.now())
    for (const key of await waitlists(database)) await repairLine(database, key, clock.now())
  },
})

import { defineJob } from '../../jobs/jobs.ts'
import { changeCounts, wrongCounts } from './list-counters.ts'

/** Proves the counters against the subscribers every night, and mends what is off. The snapshot of one statement sees both at one moment. */
export const repairCounters = defineJob<object>({
  name: 'lists.repair_counters',
  schedule: '20 3 * * *',
  async run({ database, log }) {
    await database.transaction(async (tx) => {
      for (const { project_id, list_id, ...difference } of await wrongCounts(tx)) {
        log.warn({ list_id, difference }, 'list counters were off and are mended')
        await changeCounts(tx, { project_id, list_id }, difference)
      }
    })
  },
})

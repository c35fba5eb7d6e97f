import { defineJob } from '../../jobs/jobs.ts'
import { mendCounts, wrongCounts } from './list-counters.ts'
import { foldDays, mendDay, wrongDays } from './list-days.ts'

const chunk = 5_000

/**
 * Proves the counters against the subscribers every night, and the days against the counters, and mends what is off. The snapshot of one
 * statement sees both at one moment.
 */
export const repairCounters = defineJob<object>({
  name: 'lists.repair_counters',
  schedule: '20 3 * * *',
  async run({ database, clock, log }) {
    await database.transaction(async (tx) => {
      for (const { project_id, list_id, ...difference } of await wrongCounts(tx)) {
        log.warn({ list_id, difference }, 'list counters were off and are mended')
        await mendCounts(tx, { project_id, list_id }, difference)
      }
    })
    while ((await foldDays(database, clock.now(), chunk)) > 0);
    await database.transaction(async (tx) => {
      for (const wrong of await wrongDays(tx)) {
        log.warn({ list_id: wrong.list_id, active: wrong.active }, 'the days of a list were off and are mended')
        await mendDay(tx, wrong, tx.now)
      }
    })
  },
})

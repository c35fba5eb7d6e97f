import { pruneDeliveries, repairBroadcastCounts } from '../delivery/broadcast/retention.ts'
import { trimCapturedMessages } from '../delivery/captured-messages.ts'
import { pruneMessages } from '../delivery/send-messages.ts'
import { pruneActivityHours, pruneEvents, trimActivity } from '../events/retention.ts'
import type { Services } from '../operations/context.ts'
import { defineJob } from './jobs.ts'

/** Every night, what nobody will look at again. Each piece is small, so that nothing else waits. */
export const cleanUp = defineJob<object>({
  name: 'clean_up',
  schedule: '40 3 * * *',
  async run({ database, clock, config, log }: Services) {
    while ((await pruneEvents(database, clock.now())) > 0);
    await trimActivity(database)
    await pruneActivityHours(database, clock.now())
    while ((await pruneMessages(database, clock.now())) > 0);
    await trimCapturedMessages(database)
    await repairBroadcastCounts(database, log, clock.now())
    await pruneDeliveries(database, { now: clock.now(), days: config.DELIVERY_RETENTION_DAYS })
  },
})

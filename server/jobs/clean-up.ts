import { reasonOf } from '../base/errors.ts'
import { repairBroadcastHours } from '../delivery/broadcast/repair-hours.ts'
import { pruneDeliveries, repairBroadcastCounts } from '../delivery/broadcast/retention.ts'
import { trimCapturedMessages } from '../delivery/captured-messages.ts'
import { pruneMessages } from '../delivery/send-messages.ts'
import { pruneInterests } from '../events/interests.ts'
import { pruneActivityHours, pruneEvents, trimActivity } from '../events/retention.ts'
import { pruneGreylist } from '../inbound/greylist.ts'
import type { Services } from '../operations/context.ts'
import { defineJob } from './jobs.ts'

/** What is removed comes first: it makes what is proved after it smaller. */
const steps: Record<string, (services: Services) => Promise<unknown>> = {
  async events({ database, clock }) {
    while ((await pruneEvents(database, clock.now())) > 0);
  },
  interests: ({ database }) => pruneInterests(database),
  activity: ({ database }) => trimActivity(database),
  activity_hours: ({ database, clock }) => pruneActivityHours(database, clock.now()),
  async messages({ database, clock }) {
    while ((await pruneMessages(database, clock.now())) > 0);
  },
  captured_messages: ({ database }) => trimCapturedMessages(database),
  greylist: ({ database, clock }) => pruneGreylist(database, clock.now()),
  deliveries: ({ database, clock, config, log }) => pruneDeliveries({ database, log, now: clock.now() }, config.DELIVERY_RETENTION_DAYS),
  broadcast_counts: ({ database, clock, log }) => repairBroadcastCounts({ database, log, now: clock.now() }),
  broadcast_hours: ({ database, clock, log }) => repairBroadcastHours({ database, log, now: clock.now() }),
}

/** Every night, what nobody will look at again. Each piece is small, so that nothing else waits; one that fails holds up no other. */
export const cleanUp = defineJob<object>({
  name: 'clean_up',
  schedule: '40 3 * * *',
  async run(services: Services) {
    const failed: string[] = []
    for (const [name, step] of Object.entries(steps))
      await step(services).catch((error: unknown) => {
        failed.push(name)
        services.log.error({ step: name, reason: reasonOf(error) }, 'a step of the clean-up failed')
      })
    if (failed.length > 0) throw new Error(`The clean-up failed at ${failed.join(', ')}; the rest of it is done`)
  },
})

import { activityConsumer } from '../events/activity.ts'
import { type Consumer, startConsumers } from '../events/consume.ts'
import { createWebhooks } from '../features/webhooks/index.ts'
import type { Services } from '../operations/context.ts'

/** Everything that follows the event log, and what sends webhooks. */
export async function startConsumersRole(services: Services): Promise<() => Promise<unknown>> {
  const webhooks = createWebhooks(services)
  const consumers: Consumer[] = [activityConsumer, webhooks.consumer]
  const loops = [...(await startConsumers(services.database, services.log, consumers)), webhooks.start()]
  return () => Promise.all(loops.map((loop) => loop.stop()))
}

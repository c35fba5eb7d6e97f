import { activityConsumer } from '../events/activity.ts'
import { type Consumer, startConsumers } from '../events/consume.ts'
import type { Services } from '../operations/context.ts'

/** Everything that follows the event log. */
const consumers: Consumer[] = [activityConsumer]

export async function startConsumersRole({ database, log }: Services): Promise<() => Promise<unknown>> {
  const loops = await startConsumers(database, log, consumers)
  return () => Promise.all(loops.map((loop) => loop.stop()))
}

import { allJobs } from '../jobs/all-jobs.ts'
import type { Services } from '../operations/context.ts'

/** Carries out deferred and recurring jobs. */
export async function startSchedulerRole(services: Services): Promise<() => Promise<unknown>> {
  await services.jobs.work(allJobs, services)
  // The queue itself is stopped by whoever started it.
  return async () => {}
}

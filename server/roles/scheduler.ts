import { startDuePosts } from '../features/posts/index.ts'
import { allJobs } from '../jobs/all-jobs.ts'
import type { Services } from '../operations/context.ts'

/** Carries out deferred and recurring jobs, and sends posts at their time. */
export async function startSchedulerRole(services: Services): Promise<() => Promise<unknown>> {
  await services.jobs.work(allJobs, services)
  const due = startDuePosts(services)
  // The queue itself is stopped by whoever started it.
  return () => due.stop()
}

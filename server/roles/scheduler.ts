import { startCertificates } from '../features/certificates/index.ts'
import { startDuePosts, startLookingAfterBroadcasts } from '../features/posts/index.ts'
import { startFollowingBounces } from '../features/recipients/index.ts'
import { warnOfReturnTarget, warnOfSending } from '../features/senders/index.ts'
import { allJobs } from '../jobs/all-jobs.ts'
import type { Services } from '../operations/context.ts'

/** Carries out deferred and recurring jobs, sends posts at their time, and sees to what broadcasts leave to do. */
export async function startSchedulerRole(services: Services): Promise<() => Promise<unknown>> {
  await services.jobs.work(allJobs, services)
  const due = startDuePosts(services)
  const broadcasts = startLookingAfterBroadcasts(services)
  const bounces = startFollowingBounces(services)
  const certificates = startCertificates(services)
  await warnOfSending(services)
  // Nothing waits for it: name servers may.
  void warnOfReturnTarget(services)
  // The queue itself is stopped by whoever started it.
  return () => Promise.all([due.stop(), broadcasts.stop(), bounces.stop(), certificates?.stop()])
}

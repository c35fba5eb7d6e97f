import { purgeList, repairCounters } from '../features/lists/index.ts'
import { cleanUp } from './clean-up.ts'
import type { Job } from './jobs.ts'

/** Everything that is done later, or again and again. */
export const allJobs: Job<never>[] = [purgeList, repairCounters, cleanUp]

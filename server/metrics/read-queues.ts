import { setTimeout as sleep } from 'node:timers/promises'
import type { Queryable } from '../database/database.ts'
import { type Queue, readBroadcasts, readConsumers, readJobs, readMessages, readSending, readSpool, readWebhooks } from './queue-queries.ts'

const keptMs = 5_000
const patienceMs = 2_000

/** What waits, read every five seconds at most, however often somebody asks; null while the database cannot say. */
export function createQueueReader(db: Queryable): () => Promise<Queue[] | null> {
  let asked: { answer: Promise<Queue[] | null>; at: number } | null = null
  let isReading = false
  return () => {
    // One that takes longer is waited for, and not asked a second time beside it.
    if (!asked || (!isReading && performance.now() - asked.at > keptMs)) {
      isReading = true
      // Away or too busy: the other numbers are wanted all the same, and readiness says why.
      const answer = readQueues(db)
        .catch(() => null)
        .finally(() => {
          isReading = false
        })
      asked = { answer, at: performance.now() }
    }
    return Promise.race([asked.answer, sleep(patienceMs, null, { ref: false })])
  }
}

/** One after the other: they take one connection, not seven. */
async function readQueues(db: Queryable): Promise<Queue[]> {
  const queues: Queue[] = []
  for (const read of [readMessages, readBroadcasts, readSending, readSpool, readWebhooks, readConsumers, readJobs])
    queues.push(...(await read(db)))
  return queues
}

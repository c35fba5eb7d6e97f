import { PgBoss, type Queue } from 'pg-boss'
import { reasonOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { Trouble } from '../base/trouble.ts'
import type { Database, Transaction } from '../database/database.ts'
import type { Services } from '../operations/context.ts'

/** Deferred and retried work: what a feature declares beside its operations, and the scheduler role carries out. */
export interface Job<Data extends object = object> {
  /** `lists.purge`: unique, and kept in the database, so renaming one strands what is queued. */
  name: string
  /** Cron in UTC, for work that comes back by itself. */
  schedule?: string
  /** How often it is tried again, at growing distances; 5 unless it says otherwise. */
  retryLimit?: number
  run(services: Services, data: Data): Promise<void>
}

export const defineJob = <Data extends object>(job: Job<Data>): Job<Data> => job

export interface Jobs {
  /** Queued with the transaction: it happens if and only if the change does. */
  enqueue<Data extends object>(tx: Transaction, job: Job<Data>, data: Data): Promise<void>
  /** Starts carrying jobs out in this process. */
  work(jobs: Job<never>[], services: Services): Promise<void>
  stop(): Promise<void>
}

/** pg-boss on our own database and pool. Its tables live in a schema of their own and follow its own versions. */
export async function startJobs(database: Database, log: Log, all: Job<never>[]): Promise<Jobs> {
  const boss = await startQueue(database, log, all)
  const workers = new Map<string, string>()
  let isStopping = false
  /** The queue keeps a failure to itself and tries again: without a line here nobody would know. */
  const runLogged = async (job: string, run: () => Promise<void>) => {
    try {
      await run()
    } catch (error) {
      if (isStopping) log.info({ job }, 'a job was cut off by the stop and is tried again')
      else log.error({ job, reason: reasonOf(error), stack: (error as Error)?.stack }, 'a job failed')
      throw error
    }
  }
  return {
    async enqueue(tx, job, data) {
      const db = { executeSql: (text: string, values?: unknown[]) => tx.client.query(text, values) }
      await boss.send(job.name, data, { db })
      tx.afterCommit(() => {
        const worker = workers.get(job.name)
        if (worker !== undefined) boss.notifyWorker(worker)
      })
    },
    async work(jobs, services) {
      for (const [index, job] of jobs.entries()) {
        const options = {
          batchSize: 1,
          heartbeatRefreshSeconds: beatEverySeconds,
          pollingIntervalSeconds: lookEverySeconds + index * laterBySeconds,
        }
        const worker = await boss.work(job.name, options, async ([queued]) => {
          await runLogged(job.name, () => job.run(services, (queued?.data ?? {}) as never))
        })
        workers.set(job.name, worker)
        if (job.schedule) await boss.schedule(job.name, job.schedule)
      }
    },
    async stop() {
      await boss.stop({ graceful: true, timeout: 5_000 })
      // Whatever still runs finds the database closed.
      isStopping = true
    },
  }
}

/**
 * For what another process has queued, and for retries; what this one queues is begun at once. Each kind looks in a rhythm of its own, so
 * that they do not all ask the database in the same moment, with a connection each.
 */
const lookEverySeconds = 4
const laterBySeconds = 0.2

/**
 * Nobody knows how long a nightly proof or a purge takes on a large installation: at the end of this time a second one would begin beside it.
 * So it is far away, and who has died is known by the silence: for so long that neither a pause of the machine nor a database that is away
 * for a moment looks like it.
 */
const longestSeconds = 6 * 3_600
const silenceSeconds = 300
const beatEverySeconds = 30

/** Of all jobs of a kind, queued by a feature or by the timetable. Nothing is said with a single job, so that this is the only place. */
const rulesOf = ({ retryLimit = 5 }: Job<never>) => ({
  retryLimit,
  retryBackoff: true,
  expireInSeconds: longestSeconds,
  heartbeatSeconds: silenceSeconds,
})

/** Queues are there as an earlier release made them, whose rules may have been others. */
async function makeQueues(boss: PgBoss, all: Job<never>[]): Promise<void> {
  await Promise.all(all.map((job) => boss.createQueue(job.name, rulesOf(job))))
  const found = new Map((await boss.getQueues(all.map(({ name }) => name))).map((queue) => [queue.name, queue]))
  const isSame = (job: Job<never>) =>
    Object.entries(rulesOf(job)).every(([rule, value]) => found.get(job.name)?.[rule as keyof Queue] === value)
  await Promise.all(all.filter((job) => !isSame(job)).map((job) => boss.updateQueue(job.name, rulesOf(job))))
}

/** Any constant. The queue's tables are made by whoever starts first; two who make them at once get in each other's way. */
const startLock = 7_303_015

/** The queue with its tables; it carries nothing out yet. */
export async function startQueue(
  database: Database,
  log: Log,
  all: Job<never>[],
  options: { supervise?: boolean; schedule?: boolean } = {},
): Promise<PgBoss> {
  const db = { executeSql: (text: string, values?: unknown[]) => database.execute(text, values) }
  const boss = new PgBoss({ ...options, db, schema: 'jobs' })
  const trouble = new Trouble(log, { line: 'the job queue met an error and goes on' })
  boss.on('error', (error) => trouble.met(error))
  await database.oneAtATime(startLock, async () => {
    await boss.start()
    await makeQueues(boss, all)
  })
  return boss
}

import type { Client } from 'pg'
import type { JobInsert, PgBoss } from 'pg-boss'
import type { Log } from '../base/log.ts'
import type { Database } from '../database/database.ts'
import { type Job, startQueue } from './jobs.ts'

/**
 * What waits in the queue, in and out of a backup. pg-boss makes and changes its tables itself, so a copy of them would fit one version
 * only; what is saved are the jobs, in the words of its `insert`, which takes them back in any later version. Jobs that were under way
 * begin again. What is over, and the timetable, which every start sets anew, are left out.
 */
export const queuedJobs = {
  table: 'jobs.job',
  query: `
    select jsonb_strip_nulls(jsonb_build_object('name', name, 'id', id, 'priority', priority, 'startAfter', start_after,
      'singletonKey', singleton_key, 'retryLimit', retry_limit, 'retryDelay', retry_delay, 'retryBackoff', retry_backoff,
      'retryDelayMax', retry_delay_max, 'deadLetter', dead_letter)) || jsonb_build_object('data', data) as job
    from jobs.job
    where state in ('created', 'retry', 'active') and name not like '\\_\\_pgboss%'`,
}

export interface Requeued {
  queued: number
  /** Of kinds that this release does not know. */
  dropped: number
}

export interface JobQueue {
  /** Puts the jobs of the temporary table `restored_jobs` in place of all that wait, in the transaction of `client`. */
  requeue(client: Client): Promise<Requeued>
  stop(): Promise<void>
}

/** The queue's tables are there when this resolves; nothing is carried out. */
export async function openJobQueue(database: Database, log: Log, all: Job<never>[]): Promise<JobQueue> {
  const boss = await startQueue(database, log, all, { supervise: false, schedule: false })
  return {
    requeue: (client) => requeue(boss, client, all),
    stop: () => boss.stop({ graceful: true, timeout: 5_000 }),
  }
}

const batch = 1_000

async function requeue(boss: PgBoss, client: Client, all: Job<never>[]): Promise<Requeued> {
  const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values) }
  await client.query('delete from jobs.job')
  let queued = 0
  for (const { name } of all) {
    for (let jobs = await take(client, name); jobs.length > 0; jobs = await take(client, name)) {
      await boss.insert(name, jobs, { db })
      queued += jobs.length
    }
  }
  const { rowCount: dropped } = await client.query('select from restored_jobs')
  return { queued, dropped: dropped ?? 0 }
}

async function take(client: Client, name: string): Promise<JobInsert[]> {
  const { rows } = await client.query<{ job: JobInsert & { name: string } }>(
    `delete from restored_jobs where ctid = any(array(select ctid from restored_jobs where job->>'name' = $1 limit ${batch})) returning job`,
    [name],
  )
  // How long one may take is this release's to say; backups of earlier ones have it.
  return rows.map(({ job: { name: _, expireInSeconds: __, ...job } }) => job)
}

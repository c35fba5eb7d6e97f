import { statfs } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Clock } from '../base/clock.ts'
import type { Queryable } from '../database/database.ts'
import { counters } from './counters.ts'
import type { Queue } from './queue-queries.ts'
import { createQueueReader } from './read-queues.ts'
import { label, type Metric, type Sample } from './text-format.ts'

interface Parts {
  database: Queryable
  clock: Clock
  dataDir: string
  trouble(): string | null
}

/** Also what a loop that nothing holds up shows: it is taken off. */
const resolutionMs = 20
const delayWindowMs = 5_000

export interface Metrics {
  read(): Promise<Metric[]>
  stop(): void
}

/** Everything that `GET /metrics` tells. */
export function startMetrics({ database, clock, dataDir, trouble }: Parts): Metrics {
  const readQueues = createQueueReader(database)
  const delay = startDelay()
  return {
    async read() {
      const [queues, space] = await Promise.all([readQueues(), readSpace(dataDir)])
      return [
        gauge('posthaste_trouble', '1 while /readyz tells of a trouble.', [{ value: trouble() === null ? 0 : 1 }]),
        gauge('posthaste_database_up', '0 while the database cannot say what waits.', [{ value: queues ? 1 : 0 }]),
        ...ofQueues(queues ?? [], clock.now()),
        ...ofCounters(),
        ...space,
        ...ofProcess(),
        gauge('nodejs_eventloop_lag_p99_seconds', 'How late the event loop was, at most, in 99 of 100 looks of the last seconds.', [
          { value: delay.p99Seconds() },
        ]),
      ]
    },
    stop: () => delay.stop(),
  }
}

const gauge = (name: string, help: string, samples: Sample[]): Metric => ({ name, type: 'gauge', help, samples })
const counter = (name: string, help: string, samples: Sample[]): Metric => ({ name, type: 'counter', help, samples })

function ofQueues(queues: Queue[], now: Date): Metric[] {
  const since = (moment: Date) => Math.max(0, (now.getTime() - moment.getTime()) / 1_000)
  const timed = queues.filter(({ queue }) => queue !== 'deliveries_sending')
  const scheduled = queues.filter(({ queue }) => haveTimes.has(queue))
  return [
    gauge(
      'posthaste_queue_waiting',
      'What waits; where rows are counted, no more than 10000.',
      queues.map(({ queue, waiting }) => ({ labels: label('queue', queue), value: waiting })),
    ),
    gauge(
      'posthaste_queue_oldest_seconds',
      'How long the oldest that waits has been there.',
      timed.map(({ queue, oldest }) => ({ labels: label('queue', queue), value: oldest ? since(oldest) : 0 })),
    ),
    gauge(
      'posthaste_queue_late_seconds',
      'How long what is due has not been begun; what waits for its next attempt is not due.',
      scheduled.map(({ queue, due }) => ({ labels: label('queue', queue), value: due ? since(due) : 0 })),
    ),
  ]
}

/** Whose entries have a time at which they are due. */
const haveTimes = new Set(['messages', 'inbound_spool', 'webhook_deliveries', 'jobs'])

const samplesOf = (counted: Map<string, number>): Sample[] => [...counted].map(([labels, value]) => ({ labels, value }))

const ofCounters = (): Metric[] => [
  counter('posthaste_http_requests_total', 'Requests answered, by the class of the status.', samplesOf(counters.requests)),
  counter('posthaste_mail_sent_total', 'Attempts to send a mail, by how they ended.', samplesOf(counters.mail_out)),
  counter(
    'posthaste_mail_received_total',
    'Answers to who hands over mail: 250 took a message in, the others refused one.',
    samplesOf(counters.mail_in),
  ),
  counter('posthaste_webhook_attempts_total', 'Calls of webhooks, by how they ended.', samplesOf(counters.webhook_attempts)),
]

/** Nothing while the folder is not there, as with a database server and S3. */
async function readSpace(folder: string): Promise<Metric[]> {
  const space = await statfs(folder).catch(() => null)
  if (!space) return []
  return [
    gauge('posthaste_data_dir_free_bytes', 'Room that is left for DATA_DIR.', [{ value: space.bavail * space.bsize }]),
    gauge('posthaste_data_dir_size_bytes', 'Size of the disk that DATA_DIR is on.', [{ value: space.blocks * space.bsize }]),
  ]
}

function ofProcess(): Metric[] {
  const { rss, heapUsed } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  return [
    gauge('process_resident_memory_bytes', 'Memory of the process, threads included, without PostgreSQL.', [{ value: rss }]),
    gauge('nodejs_heap_size_used_bytes', 'Heap of the main thread.', [{ value: heapUsed }]),
    counter('process_cpu_seconds_total', 'Processor time of the process, threads included.', [{ value: (user + system) / 1e6 }]),
    gauge('process_start_time_seconds', 'When the process began.', [{ value: performance.timeOrigin / 1_000 }]),
  ]
}

/** Over the last whole window, so that several who ask see the same. */
function startDelay() {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs })
  histogram.enable()
  let last: number | null = null
  const read = () => Math.max(0, (histogram.percentile(99) || 0) / 1e9 - resolutionMs / 1_000)
  const timer = setInterval(() => {
    last = read()
    histogram.reset()
  }, delayWindowMs)
  timer.unref()
  return {
    p99Seconds: () => last ?? read(),
    stop() {
      clearInterval(timer)
      histogram.disable()
    },
  }
}

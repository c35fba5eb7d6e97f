import { systemClock } from '../server/base/clock.ts'
import type { ProjectId } from '../server/base/ids.ts'
import { createLog } from '../server/base/log.ts'
import { createSecrets } from '../server/base/secrets.ts'
import { type ConnectionSettings, openDatabase } from '../server/database/database.ts'
import { ensureSigningKeys } from '../server/delivery/signing-keys.ts'
import { source } from './compile.ts'
import { processorTimeMs } from './processor-time.ts'
import type { Sink } from './sink.ts'
import { type Bench, type Program, residentMb, until } from './support.ts'

/** What the benchmarks of broadcasts share: a program with a list of so many, and one post after the other sent to it. */
export const connections = 20
const secretKey = 'a key for benchmarks, long enough to be taken'
const mailDomain = 'bench.test'
export const sendingEnv = (sink: Sink): Record<string, string> => ({
  OUTBOUND: `smtp://127.0.0.1:${sink.port}?connections=${connections}`,
  SECRET_KEY: secretKey,
  MAIL_DOMAIN: mailDomain,
})

export interface Sent {
  recipients: number
  rate: number
  arrived: number
  memory: number
  /** Of `GET /lists/{id}`, asked every 100 ms meanwhile. */
  latencies: number[]
  eventLoopP99: number
  /** Processor time for each message: of the program, of PostgreSQL and of the sink. */
  nodeMs: number
  postgresMs: number
  sinkMs: number
}

interface ListOptions {
  bench: Bench
  program: Program
  sink: Sink
  recipients: number
}

/** Makes a list with all recipients; answers what sends them one post, and returns when the ledger is complete and the post says so. */
export async function newList({ bench, program, sink, recipients }: ListOptions): Promise<() => Promise<Sent>> {
  const { id } = await ask(program, 'POST', '/lists', '{"name":"Bench"}')
  await ask(program, 'PATCH', `/lists/${id}`, '{"track_clicks":true,"track_opens":true}')
  await ask(program, 'POST', `/lists/${id}/subscribers/import`, csvOf(recipients))
  return async () => {
    const post = await ask(program, 'POST', `/lists/${id}/posts`, JSON.stringify({ subject: source.subject, body_html: source.html }))
    const path = `/lists/${id}/posts/${post.id}`
    const before = await sink.taken()
    await program.eventLoop()
    const watch = watchProgram(program, () => ask(program, 'GET', `/lists/${id}`))
    const times = [program.pid, bench.postgresPid, sink.pid].map((pid) => ({ pid, before: processorTimeMs(pid) }))
    const began = performance.now()
    await ask(program, 'POST', `${path}/send`)
    await until(async () => (await ask(program, 'GET', path)).status === 'sent', { withinMs: 600_000, everyMs: 100 })
    const seconds = (performance.now() - began) / 1000
    const [nodeMs, postgresMs, sinkMs] = times.map((one) => (processorTimeMs(one.pid) - one.before) / recipients) as [
      number,
      number,
      number,
    ]
    const { latencies, memory } = await watch.stop()
    const { p99: eventLoopP99 } = await program.eventLoop()
    const arrived = (await sink.taken()) - before
    return { recipients, rate: recipients / seconds, arrived, memory, latencies, eventLoopP99, nodeMs, postgresMs, sinkMs }
  }
}

/** As a stream: a million of them as one string would be more than the program that is measured. */
const csvOf = (recipients: number): ReadableStream<Uint8Array> => {
  const encoder = new TextEncoder()
  const chunk = 1_000
  let next = 0
  return new ReadableStream({
    start: (controller) => controller.enqueue(encoder.encode('email,name\n')),
    pull: (controller) => {
      const count = Math.min(chunk, recipients - next)
      if (count === 0) return controller.close()
      const rows = Array.from({ length: count }, (_, index) => rowOf(next + index))
      next += count
      controller.enqueue(encoder.encode(rows.join('')))
    },
  })
}
const rowOf = (n: number): string => `reader${n}@example${n % 500}.com,Reader Number ${n}\n`

export async function ask(program: Program, method: string, path: string, body?: string | ReadableStream) {
  const type = typeof body === 'string' ? 'application/json' : 'text/csv'
  const headers = { authorization: `Bearer ${program.key}`, ...(body ? { 'content-type': type } : {}) }
  const answer = await fetch(`${program.url}/v1${path}`, { method, headers, body: body ?? null, duplex: 'half' } as RequestInit)
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as { id: string; status: string; mailbox_address: string }
}

/** Asks every 100 ms, and notes how long it took and how much memory the program had. More often, the asking took a tenth of a core from what is measured. */
function watchProgram({ pid }: Program, look: () => Promise<unknown>) {
  const latencies: number[] = []
  let memory = 0
  let isRunning = true
  const watching = (async () => {
    while (isRunning) {
      const began = performance.now()
      await look()
      latencies.push(performance.now() - began)
      memory = Math.max(memory, residentMb(pid))
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  })()
  return {
    async stop() {
      isRunning = false
      await watching
      return { latencies, memory }
    },
  }
}

/** An RSA-2048 key for the domain that the lists send from. */
export async function makeKey(connection: ConnectionSettings): Promise<void> {
  const database = openDatabase({ connection, clock: systemClock, log: createLog('warn') })
  const owner = await database.first<{ id: ProjectId }>`select owner_project_id as id from instance`
  const parts = { database, secrets: createSecrets(secretKey), clock: systemClock }
  await ensureSigningKeys(parts, { project_id: owner?.id as ProjectId, domain: mailDomain, algorithms: ['rsa-sha256'] })
  await database.close()
}

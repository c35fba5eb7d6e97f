import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ConnectionSettings } from '../../server/database/database.ts'
import { withClient } from '../../server/database/with-client.ts'
import { urlOf } from '../support/empty-database.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'
import type { Faults, SinkOrder, SinkReport } from './sink-orders.ts'

/** Real processes around one database: an SMTP sink, one that serves the API, and senders that come and go. */
export interface Stage {
  sink: Sink
  startSender(options?: { dataDir?: string; leaseSeconds?: number; hasMovableClock?: boolean }): Sender
  killSenders(): Promise<void>
  newBroadcast(recipients: number): Promise<Broadcast>
  /** Throws when a process ended that nobody killed. */
  checkAlive(): void
  query<Row>(sql: string, values?: unknown[]): Promise<Row[]>
  stop(): Promise<void>
}

export interface Sender {
  pid: number
  dataDir: string
  isRunning(): boolean
  signal(name: NodeJS.Signals): void
  /** Sets its clock, if that is movable, so far from the true time. */
  moveClock(ms: number): void
  kill(): Promise<void>
}

export interface Broadcast {
  postId: string
  /** The domain of everybody's address. */
  host: string
  recipients: number
  get(): Promise<{ status: string; sending: boolean; broadcast: { status: string } | null; stats: Record<string, number> }>
  act(action: 'send' | 'pause' | 'resume' | 'abort'): Promise<number>
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const movableClock = new URL('./movable-clock.ts', import.meta.url).href
const key = 'sk_crashtestcrashtestcrashtest'

/** Messages a second of each sender: slow enough that a kill finds it in the middle. */
const rate = 1_000

export async function startStage(connection: ConnectionSettings): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-crash-'))
  const sink = await startSink()
  const children = new Set<ChildProcess>()
  const senders = new Set<ChildProcess>()
  const deaths: string[] = []
  const port = await freePort()
  const shared = environment(connection, { port, sinkPort: sink.port })
  const start = (env: Record<string, string>, preload: string[] = []): ChildProcess => {
    const child = spawn(process.execPath, ['--max-semi-space-size=4', ...preload, 'bin/posthaste.js', 'start'], {
      cwd: root,
      env: { ...shared, ...env },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    children.add(child)
    child.once('exit', (code, signal) => {
      children.delete(child)
      if (signal !== 'SIGKILL') deaths.push(`${env.ROLES} ended by itself with ${code ?? signal}`)
    })
    return child
  }
  start({ ROLES: 'http', HOST: '127.0.0.1', PORT: String(port), DATA_DIR: join(folder, 'http') })
  const api = createApi(`http://127.0.0.1:${port}`)
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  await until('the API to answer', isReady, { withinMs: 30_000 })

  let number = 0
  return {
    sink,
    startSender({ dataDir = join(folder, 'sender'), leaseSeconds = 5, hasMovableClock = false } = {}) {
      const env = {
        ROLES: 'sender,consumers,scheduler',
        DATA_DIR: dataDir,
        LEASE_SECONDS: String(leaseSeconds),
        CLOCK_FILE: clockFile(dataDir),
      }
      const child = start(env, hasMovableClock ? ['--import', movableClock] : [])
      senders.add(child)
      return toSender(child, dataDir)
    },
    async killSenders() {
      for (const child of senders) await killed(child)
      senders.clear()
    },
    newBroadcast: (recipients) => newBroadcast(api, `n${++number}`, recipients),
    checkAlive: () => {
      if (deaths.length > 0) throw new Error(deaths.join(', '))
    },
    query: (sql, values) => withClient(connection, async (client) => (await client.query(sql, values)).rows),
    async stop() {
      for (const child of children) await killed(child)
      sink.stop()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

const environment = (connection: ConnectionSettings, { port, sinkPort }: { port: number; sinkPort: number }) => ({
  ...process.env,
  DATABASE_URL: urlOf(connection),
  SECRET_KEY: 'a key for crash tests, long enough to be taken',
  PUBLIC_URL: `http://127.0.0.1:${port}`,
  OUTBOUND: `smtp://127.0.0.1:${sinkPort}?connections=10&rate=${rate}`,
  BOOTSTRAP_API_KEY: key,
  RATE_LIMIT_PER_MINUTE: '1000000',
  LOG_LEVEL: process.env.LOG_LEVEL ?? 'silent',
})

/** What the database knows of broadcasts that are not over, and what it is doing: why a scenario did not come to an end. */
export const stateOf = async ({ query }: Stage): Promise<string> => {
  const open = await query(
    `select b.status, b.reason, b.is_expanded, d.status as delivery, count(d.id)::int, min(d.next_attempt_at) - now() as first_due, count(distinct d.lease_owner)::int as owners
     from broadcasts b left join deliveries d on d.project_id = b.project_id and d.broadcast_id = b.id
     where b.status in ('sending', 'paused') group by b.id, b.status, b.reason, b.is_expanded, d.status`,
  )
  const busy = await query(
    `select state, wait_event, now() - query_start as since, left(query, 200) as query from pg_stat_activity where state <> 'idle' and pid <> pg_backend_pid()`,
  )
  return [...open, ...busy].map((row) => `    ${JSON.stringify(row)}`).join('\n')
}

const isOver = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

async function killed(child: ChildProcess): Promise<void> {
  if (isOver(child)) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

const clockFile = (dataDir: string): string => join(dataDir, 'clock-moved-ms')

const toSender = (child: ChildProcess, dataDir: string): Sender => ({
  pid: child.pid as number,
  dataDir,
  isRunning: () => !isOver(child),
  signal: (name) => void child.kill(name),
  moveClock: (ms) => writeFileSync(clockFile(dataDir), String(ms)),
  kill: () => killed(child),
})

type Api = (method: string, path: string, body?: { type: string; text: string }) => Promise<{ status: number; body: never }>

/** Asked again when the database or the program is away for a moment; nothing here does harm when it happens twice. */
const createApi =
  (url: string): Api =>
  async (method, path, body) => {
    for (let attempt = 1; ; attempt++) {
      const headers = { authorization: `Bearer ${key}`, ...(body ? { 'content-type': body.type } : {}) }
      const answer = await fetch(`${url}/v1${path}`, { method, headers, body: body?.text ?? null }).catch(() => null)
      if (answer && answer.status < 500) return { status: answer.status, body: (await answer.json()) as never }
      // A minute: a database that was killed goes through its log first.
      if (attempt === 600) throw new Error(`${method} ${path} is not answered: ${answer?.status}`)
      await sleep(100)
    }
  }

async function newBroadcast(api: Api, name: string, recipients: number): Promise<Broadcast> {
  const host = `${name}.example.org`
  const json = (value: unknown) => ({ type: 'application/json', text: JSON.stringify(value) })
  const list: { id: string } = (await api('POST', '/lists', json({ name }))).body
  const rows = Array.from({ length: recipients }, (_, index) => `reader${index}@${host},Reader ${index}\n`)
  await api('POST', `/lists/${list.id}/subscribers/import`, { type: 'text/csv', text: `email,name\n${rows.join('')}` })
  const words = { subject: 'Hello {{ name }}', body_html: '<p>Dear {{ name }}, read <a href="https://example.org/">this</a>.</p>' }
  const post: { id: string } = (await api('POST', `/lists/${list.id}/posts`, json(words))).body
  const path = `/lists/${list.id}/posts/${post.id}`
  return {
    postId: post.id,
    host,
    recipients,
    get: async () => (await api('GET', path)).body,
    act: async (action) => (await api('POST', `${path}/${action}`)).status,
  }
}

export interface Sink {
  port: number
  behave(faults: Faults): void
  restart(awayMs: number): void
  /** How many messages it has taken so far. */
  count(): Promise<number>
  report(): Promise<SinkReport>
  stop(): void
}

async function startSink(): Promise<Sink> {
  const child = fork(new URL('./sink.ts', import.meta.url))
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  const order = (what: SinkOrder) => void child.send(what)
  // One question at a time: the answers carry no name.
  let last: Promise<unknown> = Promise.resolve()
  const ask = <Answer>(what: SinkOrder): Promise<Answer> => {
    const answer = last.then(async () => {
      const heard = once(child, 'message')
      order(what)
      return ((await heard) as [Answer])[0]
    })
    last = answer
    return answer
  }
  return {
    port,
    behave: (faults) => order({ order: 'behave', faults }),
    restart: (awayMs) => order({ order: 'restart', awayMs }),
    count: async () => (await ask<{ total: number }>({ order: 'count' })).total,
    report: () => ask<SinkReport>({ order: 'report' }),
    stop: () => void child.kill(),
  }
}

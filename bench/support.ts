import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { createLog } from '../server/base/log.ts'
import type { ConnectionSettings } from '../server/database/database.ts'
import { type EmbeddedServer, startEmbeddedServer } from '../server/database/embedded/index.ts'
import { readPostmasterFile } from '../server/database/embedded/leftover.ts'
import { migrate } from '../server/database/migrate.ts'
import { withClient } from '../tests/support/database.ts'
import { urlOf } from '../tests/support/empty-database.ts'

/** What every benchmark stands on: one PostgreSQL with its durable settings, databases on it, and the program as a process apart. */
export interface Bench {
  postgresPid: number
  /** A migrated, empty database. */
  database(name: string): Promise<ConnectionSettings>
  /** The program itself, started like anybody starts it, on such a database. */
  program(connection: ConnectionSettings, env?: Record<string, string>): Promise<Program>
  stop(): Promise<void>
}

export interface Program {
  url: string
  key: string
  pid: number
  /** Since the last time this was asked: how late its event loop was (the 99th percentile and the worst), and its processor time. */
  eventLoop(): Promise<EventLoop>
  stop(): Promise<void>
}

export interface EventLoop {
  p99: number
  max: number
  cpuMs: number
}

const key = 'sk_benchmarkbenchmarkbenchmark'

export async function startBench(): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-bench-'))
  chmodSync(folder, 0o711)
  const server: EmbeddedServer = await startEmbeddedServer({ dataDir: folder, log: createLog('warn') })
  const programs: Program[] = []
  return {
    postgresPid: readPostmasterFile(join(folder, 'postgres'))?.pid as number,
    async database(name) {
      await withClient(server.connection, (client) => client.query(`create database ${name}`))
      const connection = { ...server.connection, database: name }
      await migrate(connection)
      return connection
    },
    async program(connection, env = {}) {
      const program = await startProgram(connection, folder, env)
      programs.push(program)
      return program
    },
    async stop() {
      for (const program of programs) await program.stop()
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function startProgram(connection: ConnectionSettings, folder: string, more: Record<string, string>): Promise<Program> {
  const port = await freePort()
  const env = {
    ...process.env,
    // As `npm start` has it.
    MALLOC_ARENA_MAX: '2',
    PORT: String(port),
    SMTP_PORT: '0',
    DATABASE_URL: urlOf(connection),
    DATA_DIR: join(folder, 'program'),
    BOOTSTRAP_API_KEY: key,
    RATE_LIMIT_PER_MINUTE: '100000000',
    ...more,
  }
  const watch = new URL('./event-loop.js', import.meta.url).href
  const child = spawn(process.execPath, ['--max-semi-space-size=4', '--import', watch, 'bin/posthaste.js', 'start'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  // What it warns of may be why a figure is bad; how it welcomes is not of interest.
  child.stdout?.on('data', (said) => String(said).startsWith('{') && process.stderr.write(said))
  const url = `http://localhost:${port}`
  await until(async () => (await fetch(`${url}/readyz`)).ok)
  const eventLoop = async () => {
    const answer = once(child, 'message')
    child.send('how late?')
    return ((await answer) as [EventLoop])[0]
  }
  return { url, key, pid: child.pid as number, eventLoop, stop: () => ended(child) }
}

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null) return resolve()
    child.once('exit', () => resolve())
    child.kill('SIGTERM')
  })

export async function until(check: () => Promise<boolean>, { withinMs = 30_000, everyMs = 20 } = {}): Promise<void> {
  const end = performance.now() + withinMs
  while (performance.now() < end) {
    if (await check().catch(() => false)) return
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
  throw new Error(`Not within ${withinMs} ms: ${check}`)
}

export const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })

/** Resident memory of a process in MB, as the kernel counts it. */
export const residentMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024

export const percentile = (values: number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0
export const median = (values: number[]): number => percentile(values, 0.5)

export const machine = (): string =>
  `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}, embedded PostgreSQL 18, everything on this machine`

/** One line of the report: the figure, what it must reach, and whether it does. */
export function report(what: string, value: string, target: string, isMet: boolean): void {
  console.log(`${isMet ? '✓' : '✗'} ${what.padEnd(58)} ${value.padStart(14)}   (${target})`)
  if (!isMet) process.exitCode = 1
}

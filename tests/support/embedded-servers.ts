import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import type { Log } from '../../server/base/log.ts'
import { type EmbeddedServer, startEmbeddedServer } from '../../server/database/embedded/index.ts'
import { findLeftover, readPostmasterFile } from '../../server/database/embedded/leftover.ts'
import { markProcess } from '../../server/database/embedded/processes.ts'

export const isRoot = process.geteuid?.() === 0
const silent = () => {}
const log: Log = { debug: silent, info: silent, warn: silent, error: silent }
export const parentScript = fileURLToPath(new URL('./embedded-parent.ts', import.meta.url))

/** Everything the tests make, so that nothing of it outlives them, whatever fails. */
const folders = new Set<string>()
export const children = new Set<ChildProcess>()
const servers = new Set<EmbeddedServer>()

/** mkdtemp's folders are closed to others, and as root the server runs as another. */
export function makeTemporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-embedded-'))
  chmodSync(folder, 0o711)
  folders.add(folder)
  return folder
}

/** One cluster is made, and copied per test: initdb takes most of a second. */
let template = ''

export async function makeTemplate(): Promise<void> {
  template = join(makeTemporaryFolder(), 'data')
  const server = await start(template)
  await query(server, `create table notes (text text); insert into notes values ('kept')`)
  await server.stop()
}

export function copyData(...path: string[]): string {
  const dataDir = join(makeTemporaryFolder(), ...path, 'data')
  mkdirSync(dirname(dataDir), { recursive: true })
  cpSync(template, dataDir, { recursive: true })
  return dataDir
}

export async function start(
  dataDir: string,
  more: { settings?: Record<string, string>; packageFolder?: string } = {},
): Promise<EmbeddedServer> {
  const server = await startEmbeddedServer({ dataDir, log, ...more, settings: { fsync: 'off', ...more.settings } })
  servers.add(server)
  return server
}

/** A process that owns a server; with `exit`, it leaves at once without stopping it. */
export async function startParent(dataDir: string, ...more: string[]) {
  const child = spawn(process.execPath, [parentScript, dataDir, ...more], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.add(child)
  const died = once(child, 'exit').then(([code]) => assert.fail(`the parent ended with ${code}`))
  // Only of interest for as long as it has not answered.
  died.catch(silent)
  const [line] = (await Promise.race([once(child.stdout, 'data'), died])) as [Buffer]
  return { child, connection: JSON.parse(String(line)) as EmbeddedServer['connection'] }
}

export async function killChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

export async function query<Row>({ connection }: Pick<EmbeddedServer, 'connection'>, sql: string): Promise<Row[]> {
  const client = new Client(connection)
  client.on('error', silent)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

export const readPid = (dataDir: string): number => readPostmasterFile(join(dataDir, 'postgres'))?.pid ?? assert.fail('no postmaster.pid')

export async function isGoneWithin(pid: number, ms: number): Promise<boolean> {
  for (const deadline = Date.now() + ms; Date.now() < deadline; await sleep(20)) if (!isProcess(pid)) return true
  return false
}

/** A zombie is no process: an orphan's is collected by the system's first process, in its own time. */
export const isProcess = (pid: number): boolean => markProcess(pid) !== undefined

/** Until the server answers again, with the error of the last try when it never does. */
export async function queryUntilAnswered<Row>(server: EmbeddedServer, sql: string): Promise<Row[]> {
  for (const deadline = Date.now() + 15_000; ; await sleep(50))
    try {
      return await query<Row>(server, sql)
    } catch (error) {
      if (Date.now() > deadline) throw error
    }
}

/** After each test: all but the template. */
export async function cleanUp(): Promise<void> {
  for (const server of servers) await server.stop().catch(silent)
  for (const child of children) await killChild(child)
  await Promise.all([...folders].filter((folder) => folder !== dirname(template)).map(removeFolder))
  servers.clear()
  children.clear()
}

export async function removeTemplate(): Promise<void> {
  await cleanUp()
  await removeFolder(dirname(template))
}

async function removeFolder(folder: string): Promise<void> {
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('postgres/postmaster.pid')) continue
    const leftover = await findLeftover(dirname(join(folder, file)))
    if (!leftover) continue
    process.kill(leftover.pid, 'SIGQUIT')
    await isGoneWithin(leftover.pid, 10_000)
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  folders.delete(folder)
}

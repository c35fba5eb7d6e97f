import { spawn } from 'node:child_process'
import { chmodSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../server/base/clock.ts'
import { createLog } from '../server/base/log.ts'
import { type ConnectionSettings, openDatabase } from '../server/database/database.ts'
import { startEmbeddedServer } from '../server/database/embedded/index.ts'
import { migrate } from '../server/database/migrate.ts'
import { allJobs } from '../server/jobs/all-jobs.ts'
import { startJobs } from '../server/jobs/jobs.ts'
import { onDatabase, serverVariable, templateName, withClient } from './support/database.ts'

/**
 * `npm test`: one PostgreSQL for all (the one that DATABASE_URL names, else our own in a temporary folder), a migrated template, and
 * then every test file on a clone of it. `npm test -- PATH…` runs only the files below those paths.
 */
const log = createLog('warn')
const folder = mkdtempSync(join(tmpdir(), 'posthaste-test-'))
// mkdtemp makes it private; as root the server runs as another user, who must be able to enter.
chmodSync(folder, 0o711)
const embedded = process.env.DATABASE_URL
  ? null
  : await startEmbeddedServer({ dataDir: folder, log, settings: { fsync: 'off', max_connections: '300' } })
const server: ConnectionSettings = embedded?.connection ?? { connectionString: process.env.DATABASE_URL as string }

const paths = process.argv.slice(2)
const all = globSync(['server/**/*.test.ts', 'tests/**/*.test.ts', 'scripts/**/*.test.ts']).sort()
const files = paths.length === 0 ? all : all.filter((file) => paths.some((path) => file.startsWith(path.replace(/^\.\//, ''))))

try {
  if (files.length === 0) throw new Error(`There is no test file below ${paths.join(', ')}.`)
  await makeTemplate()
  process.exitCode = await runFiles()
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

/** Two files at a time: a file is a whole program with a database, and our machines have two cores. */
function runFiles(): Promise<number> {
  const child = spawn(
    process.execPath,
    ['--test', '--test-concurrency=2', '--test-reporter=spec', '--test-reporter-destination=stdout', ...files],
    {
      stdio: 'inherit',
      env: { ...process.env, [serverVariable]: JSON.stringify(server) },
    },
  )
  // Interrupted, the tests end first, and then what they ran on: it must not be left behind.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill('SIGTERM'))
  return new Promise((resolve) => child.on('close', (code) => resolve(code ?? 1)))
}

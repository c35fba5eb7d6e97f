import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import type { Clock } from '../../server/base/clock.ts'
import { type Config, readConfig } from '../../server/base/config.ts'
import { createLog } from '../../server/base/log.ts'
import type { ConnectionSettings } from '../../server/database/database.ts'
import { startPosthaste } from '../../server/main.ts'
import { type Scope, scopes } from '../../server/operations/context.ts'
import { cloneDatabase } from './database.ts'
import { createProject, type TestProject } from './project.ts'

/** A clock that stands where the test puts it, and otherwise runs. */
export interface TestClock extends Clock {
  advance(ms: number): void
}

export function createTestClock(): TestClock {
  let ahead = 0
  return {
    now: () => new Date(Date.now() + ahead),
    advance: (ms) => {
      ahead += ms
    },
  }
}

export interface TestApp {
  url: string
  /** Where it takes in mail, unless its ROLES are without `inbound`. */
  smtpPort: number
  config: Config
  clock: TestClock
  /** For a second program on the same database, and for sessions of the test's own. */
  connection: ConnectionSettings
  services: Awaited<ReturnType<typeof startPosthaste>>['services']
  /** A fresh tenant with a key of the given scopes (all, unless said). */
  newProject(scopes?: readonly Scope[]): Promise<TestProject>
  stop(): Promise<void>
}

interface AppOptions {
  /** A database that somebody else made and drops, in place of a clone. */
  connection?: ConnectionSettings
  clock?: TestClock
}

/** One for all programs of a test file: those on one database share journals and raw mail, as on one machine. */
const dataFolder = mkdtempSync(join(tmpdir(), 'posthaste-data-'))
process.on('exit', () => rmSync(dataFolder, { recursive: true, force: true }))

/** The whole program on a database of its own, for the tests of one file; ends with them. */
export async function startApp(env: Record<string, string> = {}, options: AppOptions = {}): Promise<TestApp> {
  const database = options.connection ? { connection: options.connection, drop: async () => {} } : await cloneDatabase()
  const port = await freePort()
  const config = readConfig({
    PORT: String(port),
    HOST: '127.0.0.1',
    SMTP_HOST: '127.0.0.1',
    SMTP_PORT: '0',
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    MAIL_DOMAIN: 'posthaste.test',
    DATA_DIR: dataFolder,
    SECRET_KEY: 'a key for tests, long enough to be taken',
    RATE_LIMIT_PER_MINUTE: '1000000',
    LOG_LEVEL: process.env.LOG_LEVEL ?? 'silent',
    ...env,
  })
  const clock = options.clock ?? createTestClock()
  const server = { connection: database.connection, place: 'the test database', stop: async () => {} }
  const posthaste = await startPosthaste({ config, clock, log: createLog(config.LOG_LEVEL), server })
  let stopped = false
  const stop = async () => {
    if (stopped) return
    stopped = true
    try {
      await posthaste.stop()
    } catch (error) {
      // The failure is the test's to show; what was left open would keep its file running for ever.
      await services.jobs.stop()
      await services.database.close()
      throw error
    } finally {
      await database.drop()
    }
  }
  after(stop)
  const url = config.PUBLIC_URL
  const { connection } = database
  const { services } = posthaste
  const smtpPort = posthaste.smtpPort ?? 0
  return {
    url,
    smtpPort,
    config,
    clock,
    connection,
    services,
    stop,
    newProject: (wanted = scopes) => createProject(services.database, url, wanted),
  }
}

/** A port that was free a moment ago: the program needs to know its own address before it listens. */
const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const probe = createServer().once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })

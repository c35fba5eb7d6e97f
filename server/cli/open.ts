import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { pino } from 'pino'
import { type Clock, systemClock } from '../base/clock.ts'
import { type Config, readConfig } from '../base/config.ts'
import type { Log } from '../base/log.ts'
import { connectDatabase, type DatabaseServer, dataDirOf } from '../database/connect.ts'
import { type ConnectionSettings, type Database, openDatabase } from '../database/database.ts'
import { connectToRunning } from '../database/embedded/index.ts'
import { newestMigration } from '../database/migrate.ts'
import { withClient as withSession } from '../database/with-client.ts'
import { UsageError } from './usage.ts'

/** The configuration, and a log on standard error: what a command prints may be piped into a file. */
export interface Setup {
  config: Config
  log: Log
}

export function readSetup(): Setup {
  const config = readConfig(process.env)
  const options = { level: config.LOG_LEVEL, base: null, timestamp: pino.stdTimeFunctions.isoTime }
  return { config, log: pino(options, pino.destination({ fd: 2, sync: true })) }
}

/** What a command works on. */
export interface Open extends Setup {
  clock: Clock
  connection: ConnectionSettings
  database: Database
  /** Where the data lives, for people to read. */
  place: string
}

/** For commands that need the schema of this release. */
export function withDatabase<Result>(work: (open: Open) => Promise<Result>): Promise<Result> {
  const setup = readSetup()
  return withServer(setup, async (server) => {
    await refuseOldSchema(server)
    return withPool(setup, server, work)
  })
}

export async function withPool<Result>(
  { config, log }: Setup,
  { connection, place }: DatabaseServer,
  work: (open: Open) => Promise<Result>,
): Promise<Result> {
  const database = openDatabase({ connection, clock: systemClock, log, poolSize: 4 })
  try {
    return await work({ config, log, clock: systemClock, connection, database, place })
  } finally {
    await database.close()
  }
}

interface Server extends DatabaseServer {
  /** A living Posthaste owns the embedded server, and goes on when we are done. */
  isShared: boolean
  /** We started the embedded server, and stop it. */
  isOurs: boolean
}

interface ServerOptions extends Setup {
  /** Makes the embedded database when there is none. */
  mayCreate?: boolean
}

/** The server that DATABASE_URL names; or the embedded one: of the Posthaste that runs it now, or started here and stopped again. */
export async function withServer<Result>(options: ServerOptions, work: (server: Server) => Promise<Result>): Promise<Result> {
  const interrupts = exitOnInterrupt()
  let server: Server | undefined
  try {
    server = await openServer(options)
    interrupts.serverRuns()
    return await work(server)
  } finally {
    if (server?.isOurs) await waitForOthers(server)
    await server?.stop()
    interrupts.off()
  }
}

/**
 * Ctrl-C ends a Node process without its exit handlers, and the one that stops our own server is among them. That one is there once the
 * server runs, so the first Ctrl-C waits until then; the second does not.
 */
function exitOnInterrupt(): { serverRuns(): void; off(): void } {
  const exit = () => process.exit(130)
  let [mayExit, isAsked] = [false, false]
  const ask = () => {
    if (mayExit || isAsked) exit()
    isAsked = true
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, ask)
  return {
    serverRuns() {
      mayExit = true
      if (isAsked) exit()
    },
    off() {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, ask)
    },
  }
}

async function openServer({ config, log, mayCreate = false }: ServerOptions): Promise<Server> {
  const dataDir = dataDirOf(config)
  const running = config.DATABASE_URL ? null : await connectToRunning(dataDir)
  if (running) return { connection: running, place: dataDir, stop: async () => {}, isShared: true, isOurs: false }
  if (!config.DATABASE_URL && !mayCreate && !existsSync(join(dataDir, 'postgres')))
    throw new UsageError(`There is no database in ${dataDir} yet. Run "posthaste start" first, or set DATA_DIR or DATABASE_URL to yours.`)
  return { ...(await connectDatabase(config, log)), isShared: false, isOurs: !config.DATABASE_URL }
}

/** Other commands that came meanwhile found our server running, and work on it. */
async function waitForOthers({ connection }: Server): Promise<void> {
  const others = `select from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() limit 1`
  const wait = async (client: Client) => {
    for (let looks = 1; (await client.query(others)).rowCount; looks++) {
      // Our own sessions take a moment to go.
      if (looks === 5) console.error('Waiting for another command that uses this database …')
      await sleep(100)
    }
  }
  // A server that is gone has no guests; why it is gone, the work has told.
  await withClient(connection, wait).catch(() => {})
}

/** Commands are told from the program itself by this name. */
export const withClient = <Result>(connection: ConnectionSettings, work: (client: Client) => Promise<Result>): Promise<Result> =>
  withSession({ ...connection, application_name: 'posthaste command' }, work)

/** The newest migration the database has; null when it has no schema. */
export async function schemaNumber(client: Client): Promise<number | null> {
  const { rows } = await client.query<{ known: string | null }>(`select to_regclass('public.schema_migrations')::text as known`)
  if (!rows[0]?.known) return null
  return (
    (await client.query<{ number: number | null }>('select max(number) as number from public.schema_migrations')).rows[0]?.number ?? null
  )
}

/** A newer schema is fine: every migration is safe for the release before. */
async function refuseOldSchema({ connection, place }: DatabaseServer): Promise<void> {
  const number = await withClient(connection, schemaNumber)
  if (number === null) throw new UsageError(`${place} has no Posthaste in it yet. Run "posthaste migrate" or "posthaste start" first.`)
  if (number < newestMigration())
    throw new UsageError(
      `The database is at migration ${number}, and this release needs ${newestMigration()}. Run "posthaste migrate" or "posthaste start" first.`,
    )
}

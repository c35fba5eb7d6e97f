import type { Log } from '../../base/log.ts'
import { withClient } from '../with-client.ts'
import { prepareBinaries, removeUnusedCopies } from './binaries.ts'
import { clusterFolder, ensureCluster } from './cluster.ts'
import { lockDataFolder } from './folder-lock.ts'
import type { ServerPlan } from './postmaster.ts'
import { prepareDataFolder } from './server-user.ts'
import { serverArguments } from './settings.ts'
import { connectionThrough, prepareSocketFolder, removeSocketFolder } from './socket-folder.ts'
import { superviseServer } from './supervise.ts'

export { connectToRunning } from './running.ts'
export { isReachableByServerUser } from './server-user.ts'

export interface EmbeddedServer {
  /** node-postgres connection settings (Unix socket folder as host). */
  connection: { host: string; port: number; user: string; database: string; ssl: false }
  stop(): Promise<void>
}

export interface EmbeddedServerOptions {
  dataDir: string
  log: Log
  /** PostgreSQL settings on top of ours, e.g. `{ fsync: 'off' }` for tests. */
  settings?: Record<string, string>
  /** Where the platform package is, for the tests of this folder. */
  packageFolder?: string
}

/**
 * Runs PostgreSQL in `<dataDir>/postgres`. What it keeps beside it, all named `postgres.*`: `version`, `log`, `lock` and `owner` (one
 * Posthaste per folder), `socket`, and `binaries` where those of npm cannot be used in place.
 */
export async function startEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const dataDir = prepareDataFolder(options.dataDir)
  const lock = lockDataFolder(dataDir)
  try {
    const server = await startLocked(dataDir, options)
    return {
      connection: server.connection,
      // One stop, however often it is asked for: signal handlers are.
      stop: once(() => server.stop().finally(() => lock.release())),
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

async function startLocked(dataDir: string, { log, settings = {}, packageFolder }: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const binaries = await prepareBinaries(dataDir, packageFolder)
  await ensureCluster(dataDir, binaries, settings.fsync !== 'off')
  const [cluster, socketFolder] = [clusterFolder(dataDir), prepareSocketFolder(dataDir)]
  const connection = connectionThrough(socketFolder)
  const askVersion = () => askServerVersion({ ...connection, database: 'postgres' })
  const plan: ServerPlan = {
    dataDir,
    cluster,
    socketFolder,
    binaries,
    args: serverArguments(cluster, socketFolder, settings),
    log,
    askVersion,
  }
  const server = await superviseServer(plan)
  const stop = () => server.stop().then(() => removeSocketFolder(socketFolder))
  try {
    await ensureDatabase(connection)
    await removeUnusedCopies(dataDir, binaries)
  } catch (error) {
    await stop()
    throw error
  }
  return { connection, stop }
}

type Connection = EmbeddedServer['connection']

/** Not part of initdb's work: a kill between the two leaves a cluster without the database, so each start looks. */
const ensureDatabase = ({ database, ...server }: Connection): Promise<void> =>
  withClient({ ...server, database: 'postgres' }, async (client) => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [database])
    if (rowCount === 0) await client.query(`create database ${database}`)
  })

const askServerVersion = (connection: Connection): Promise<string> =>
  withClient(
    connection,
    async (client) => (await client.query<{ server_version: string }>('show server_version')).rows[0]?.server_version ?? '',
  )

function once<T>(run: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => (result ??= run())
}

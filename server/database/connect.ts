import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Config } from '../base/config.ts'
import type { Log } from '../base/log.ts'
import type { ConnectionSettings } from './database.ts'
import { isReachableByServerUser, startEmbeddedServer } from './embedded/index.ts'

export interface DatabaseServer {
  connection: ConnectionSettings
  /** Where the data lives, for people to read. */
  place: string
  stop(): Promise<void>
}

/** `DATA_DIR`, or `./data`; root's own folder is closed to the user that the embedded server runs as, so then a system folder. */
export function dataDirOf(config: Config): string {
  if (config.DATA_DIR) return resolve(config.DATA_DIR)
  const here = resolve('data')
  return existsSync(here) || isReachableByServerUser(here) ? here : '/var/lib/posthaste'
}

/** The server that DATABASE_URL names, or our own. */
export async function connectDatabase(config: Config, log: Log): Promise<DatabaseServer> {
  if (config.DATABASE_URL) {
    const { host, pathname } = new URL(config.DATABASE_URL)
    return { connection: { connectionString: config.DATABASE_URL }, place: `PostgreSQL at ${host}${pathname}`, stop: async () => {} }
  }
  const dataDir = dataDirOf(config)
  const server = await startEmbeddedServer({ dataDir, log })
  return { connection: server.connection, place: dataDir, stop: server.stop }
}

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Config } from '../base/config.ts'
import { OperatorError, reasonOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { ConnectionSettings } from './database.ts'
import { isReachableByServerUser, startEmbeddedServer } from './embedded/index.ts'
import { lookAtServer } from './server-fitness.ts'
import { withClient } from './with-client.ts'

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
    const connection = { connectionString: config.DATABASE_URL }
    const { host, pathname } = new URL(config.DATABASE_URL)
    const place = `PostgreSQL at ${host}${pathname}`
    await refuseUnfit(connection, place)
    return { connection, place, stop: async () => {} }
  }
  const dataDir = dataDirOf(config)
  const server = await startEmbeddedServer({ dataDir, log })
  return { connection: server.connection, place: dataDir, stop: server.stop }
}

/** Said at the start, in one line, rather than by whichever query comes first. */
async function refuseUnfit(connection: ConnectionSettings, place: string): Promise<void> {
  const seen = await withClient(connection, lookAtServer).catch((error: unknown) => {
    throw new OperatorError(`${place} cannot be reached: ${reasonOf(error)}. Check DATABASE_URL, and that the server runs.`, {
      cause: error,
    })
  })
  if (seen.isTooOld) throw new OperatorError(`${place} is version ${seen.version}; Posthaste needs 15 or newer.`)
  if (!seen.isUtf8)
    throw new OperatorError(
      `${place} is encoded in ${seen.encoding}, which lacks letters that people write. Create it with: createdb -E UTF8 -T template0 …`,
    )
}

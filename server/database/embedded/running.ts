import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../../base/errors.ts'
import { withClient } from '../with-client.ts'
import { clusterFolder } from './cluster.ts'
import { isDataFolderLocked } from './folder-lock.ts'
import type { EmbeddedServer } from './index.ts'
import { readPostmasterFile } from './leftover.ts'
import { connectionThrough } from './socket-folder.ts'

const startMs = 30_000

/**
 * The way to the server that a living Posthaste runs on this folder, or null when none does: for the command line, which works beside
 * it. A server without a living owner is a leftover, for `startEmbeddedServer` to take on.
 */
export async function connectToRunning(dataDir: string): Promise<EmbeddedServer['connection'] | null> {
  // The owner may be starting just now, or starting its server again.
  for (const deadline = Date.now() + startMs; isDataFolderLocked(dataDir); await sleep(100)) {
    const file = readPostmasterFile(clusterFolder(dataDir))
    const connection = connectionThrough(file?.socketFolder ?? '')
    if (file?.status === 'ready' && (await isAnswering(connection))) return connection
    if (Date.now() > deadline)
      throw new OperatorError(
        `The data folder ${dataDir} is in use by another Posthaste process, but its PostgreSQL does not answer. ${dataDir}/postgres.log may say why.`,
      )
  }
  return null
}

/** Asked of the very database: on a first start it is made a moment after the server is ready. */
const isAnswering = (connection: EmbeddedServer['connection']): Promise<boolean> =>
  withClient(connection, async () => true).catch(() => false) // not yet, or no longer: the caller looks again

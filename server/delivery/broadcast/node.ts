import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { type FileLock, tryLockFile } from '../../base/file-lock.ts'
import type { Log } from '../../base/log.ts'
import type { Database } from '../../database/database.ts'
import { type Journal, openJournal, readJournal } from './journal.ts'
import { releaseLeases, settleAccepted } from './settle.ts'

/** A process that sends: its name in the ledger's leases, and its journal. Each start is a new one, and buries the dead of this machine. */
export interface SendingNode {
  id: string
  journal: Journal
  stop(): void
}

interface Parts {
  database: Database
  clock: Clock
  log: Log
  dataDir: string
}

export async function startNode(parts: Parts): Promise<SendingNode> {
  const folder = join(parts.dataDir, 'journals')
  mkdirSync(folder, { recursive: true })
  for (const id of readdirSync(folder)) if (!id.startsWith('.')) await buryIfDead(parts, folder, id)
  const id = randomUUID()
  // Locked before it has its name: another process that starts in this moment would take it for one of the dead.
  mkdirSync(join(folder, `.${id}`))
  const lock = tryLockFile(join(folder, `.${id}`, 'node.lock')) as FileLock // nobody else knows this name
  renameSync(join(folder, `.${id}`), join(folder, id))
  const journal = openJournal(join(folder, id))
  return {
    id,
    journal,
    stop() {
      journal.close()
      lock.release()
      // What was settled has left no file; what was not is for the next start.
      if (readJournal(join(folder, id)).length === 0) rmSync(join(folder, id), { recursive: true, force: true })
    },
  }
}

/** First what the peer has accepted, then the rest: the other way round, somebody would send it again. */
async function buryIfDead({ database, clock, log }: Parts, folder: string, id: string): Promise<void> {
  const lock = tryLock(join(folder, id))
  if (!lock) return
  try {
    const accepted = readJournal(join(folder, id))
    await settleAccepted(database, id, accepted, clock.now())
    const released = await releaseLeases(database, id, clock.now())
    log.info({ accepted: accepted.length, released }, 'went on where a process that died had stopped')
  } finally {
    lock.release()
  }
  rmSync(join(folder, id), { recursive: true, force: true, maxRetries: 5 })
}

/** Null when it lives, and when somebody else has buried it while we looked. */
function tryLock(folder: string): FileLock | null {
  try {
    return tryLockFile(join(folder, 'node.lock'))
  } catch (error) {
    if (!existsSync(folder)) return null
    throw error
  }
}

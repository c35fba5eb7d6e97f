import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, momentOf, msSince } from '../../base/clock.ts'
import { type FileLock, tryLockFile } from '../../base/file-lock.ts'
import type { Log } from '../../base/log.ts'
import type { Database } from '../../database/database.ts'
import { type Journal, openJournal, readJournal } from './journal.ts'
import { releaseLeases, settleAccepted } from './settle.ts'

/**
 * A process that sends: its name in the ledger's leases, and its journal. Each start is a new one. The dead of this folder are buried by
 * whoever is there, at its start and ever after: a lease runs out, and what only the journal knows would go out again.
 */
export interface SendingNode {
  id: string
  journal: Journal
  /** To be called before anything is done to leases that ran out. Looks now and then, and costs nothing in between. */
  buryDead(): Promise<void>
  stop(): void
}

interface Parts {
  database: Database
  clock: Clock
  log: Log
  dataDir: string
  leaseMs: number
}

const lookEveryMs = 1_000
/** Whoever takes longer than this to bury another hangs, and must not stop everybody. */
const burialMs = 30_000

export async function startNode(parts: Parts): Promise<SendingNode> {
  const folder = join(parts.dataDir, 'journals')
  mkdirSync(folder, { recursive: true })
  let lookedAt = momentOf(parts.clock)
  await buryAll(parts, folder)
  const id = randomUUID()
  // Locked before it has its name: another process that starts in this moment would take it for one of the dead.
  mkdirSync(join(folder, `.${id}`))
  const lock = tryLockFile(join(folder, `.${id}`, 'node.lock')) as FileLock // nobody else knows this name
  renameSync(join(folder, `.${id}`), join(folder, id))
  const journal = openJournal(join(folder, id))
  // The leases of one that was alive a quarter of a lease ago last for at least as long again: it was renewed in its last quarter.
  const everyMs = Math.min(lookEveryMs, parts.leaseMs / 4)
  let looking: Promise<void> | null = null
  return {
    id,
    journal,
    buryDead() {
      if (looking) return looking
      if (msSince(lookedAt, parts.clock) < everyMs) return Promise.resolve()
      const began = momentOf(parts.clock)
      looking = buryAll(parts, folder, id)
        .then(() => {
          lookedAt = began
        })
        .finally(() => {
          looking = null
        })
      return looking
    },
    stop() {
      journal.close()
      lock.release()
      // What was settled has left no file; what was not is for whoever looks next.
      if (readJournal(join(folder, id)).length === 0) rmSync(join(folder, id), { recursive: true, force: true })
    },
  }
}

async function buryAll(parts: Parts, folder: string, ownId?: string): Promise<void> {
  for (const id of readdirSync(folder)) {
    if (id.startsWith('.') || id === ownId) continue
    const began = performance.now()
    // Its leases are as good as lost before whoever buries it has settled what it knew.
    while ((await buryIfDead(parts, folder, id)) === 'in_other_hands' && performance.now() - began < burialMs) await sleep(20)
  }
}

const markOfBurial = 'burial'

/** First what the peer has accepted, then the rest: the other way round, somebody would send it again. */
async function buryIfDead({ database, clock, log }: Parts, folder: string, id: string): Promise<'done' | 'in_other_hands'> {
  const lock = tryLock(join(folder, id))
  if (!lock) return existsSync(join(folder, id, markOfBurial)) ? 'in_other_hands' : 'done'
  try {
    const accepted = readJournal(join(folder, id))
    await settleAccepted(database, id, accepted, clock.now())
    const released = await releaseLeases(database, id, clock.now())
    log.info({ accepted: accepted.length, released }, 'went on where a process that died had stopped')
    rmSync(join(folder, id), { recursive: true, force: true, maxRetries: 5 })
  } finally {
    lock.release()
  }
  return 'done'
}

/** Null when it lives, and when somebody else buries it, or has buried it while we looked. */
function tryLock(folder: string): FileLock | null {
  let lock: FileLock | null = null
  try {
    lock = tryLockFile(join(folder, 'node.lock'))
    if (lock) writeFileSync(join(folder, markOfBurial), '')
    return lock
  } catch (error) {
    lock?.release()
    if (!existsSync(folder)) return null
    throw error
  }
}

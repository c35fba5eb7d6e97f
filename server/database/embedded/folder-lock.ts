import { readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export interface FolderLock {
  release(): void
}

const SQLITE_BUSY = 5

/**
 * One living Posthaste per data folder.
 *
 * The lock is a kernel lock (fcntl), so it ends with its process, however that dies, and no reused process id can be
 * mistaken for the owner. It is also seen from another container on the same volume, where process ids say nothing and two
 * servers would destroy the database. Node has no call for it; its built-in SQLite takes one with BEGIN EXCLUSIVE. The file stays
 * empty, and this process must never open it otherwise: closing any descriptor of a file drops a process's fcntl locks on it.
 */
export function lockDataFolder(dataDir: string): FolderLock {
  const ownerFile = join(dataDir, 'postgres.owner')
  const file = join(dataDir, 'postgres.lock')
  let lock: DatabaseSync | undefined
  try {
    lock = new DatabaseSync(file)
    lock.exec('pragma locking_mode = exclusive; begin exclusive')
  } catch (error) {
    lock?.close()
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) throw inUseError(dataDir, ownerFile)
    throw new Error(`${file} cannot be locked (${(error as Error).message}): the user that runs Posthaste must own ${dataDir}.`, {
      cause: error,
    })
  }
  // Only for the sentence below; the lock itself is the truth.
  writeFileSync(ownerFile, `${process.pid} ${hostname()}\n`)
  return { release: () => lock.close() }
}

function inUseError(dataDir: string, ownerFile: string): Error {
  const [pid, host] = readOwner(ownerFile)
  const where = host && host !== hostname() ? ` on ${host}` : ''
  return new Error(
    `The data folder ${dataDir} is in use by another Posthaste process (process id ${pid ?? 'unknown'}${where}): stop that one first, or set DATA_DIR to another folder.`,
  )
}

function readOwner(ownerFile: string): string[] {
  try {
    return readFileSync(ownerFile, 'utf8').trim().split(' ')
  } catch {
    // Taken a moment ago and not written yet: the sentence does without the id.
    return []
  }
}

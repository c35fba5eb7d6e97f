import { DatabaseSync } from 'node:sqlite'

export interface FileLock {
  release(): void
}

const SQLITE_BUSY = 5

/**
 * A kernel lock (fcntl): it ends with its process, however that dies, and no reused process id can be mistaken for the owner. It is also
 * seen from another container on the same volume, where process ids say nothing. Node has no call for it; its built-in SQLite takes
 * one with BEGIN EXCLUSIVE. The file stays empty, and this process must never open it otherwise: closing any descriptor of a file drops
 * a process's fcntl locks on it. Null when somebody else has it.
 */
export function tryLockFile(path: string): FileLock | null {
  let lock: DatabaseSync | undefined
  try {
    lock = new DatabaseSync(path)
    // Nothing is ever written; the journal in memory keeps SQLite from making a file for it, which a kill would leave behind.
    lock.exec('pragma journal_mode = memory; pragma locking_mode = exclusive; begin exclusive')
  } catch (error) {
    lock?.close()
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return null
    throw error
  }
  const held = lock
  return { release: () => held.close() }
}

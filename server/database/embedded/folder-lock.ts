import { readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { OperatorError } from '../../base/errors.ts'

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
    // Nothing is ever written; the journal in memory keeps SQLite from making a file for it, which a kill would leave behind.
    lock.exec('pragma journal_mode = memory; pragma locking_mode = exclusive; begin exclusive')
    // Only for the sentence below; the lock itself is the truth.
    writeFileSync(ownerFile, `${process.pid} ${hostname()}\n`)
  } catch (error) {
    lock?.close()
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) throw inUseError(dataDir, ownerFile)
    const reason = (error as Error).message
    throw new OperatorError(`The data folder ${dataDir} cannot be locked (${reason}). Posthaste must be able to write there.`, {
      cause: error,
    })
  }
  return { release: () => lock.close() }
}

function inUseError(dataDir: string, ownerFile: string): Error {
  const [pid, host] = readOwner(ownerFile)
  const where = host && host !== hostname() ? ` on ${host}` : ''
  return new OperatorError(
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

/** Whether a living process holds the folder, asked by reading the file as SQLite, which an exclusive lock forbids. */
export function isDataFolderLocked(dataDir: string): boolean {
  let reader: DatabaseSync | undefined
  try {
    reader = new DatabaseSync(join(dataDir, 'postgres.lock'), { readOnly: true })
    reader.exec('select 1 from sqlite_schema')
    return false
  } catch (error) {
    // Anything else (no file, no right to read it) is for whoever takes the lock next to tell.
    return (error as { errcode?: number }).errcode === SQLITE_BUSY
  } finally {
    reader?.close()
  }
}

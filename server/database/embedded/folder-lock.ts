import { readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { OperatorError } from '../../base/errors.ts'
import { type FileLock, tryLockFile } from '../../base/file-lock.ts'

const SQLITE_BUSY = 5

/** One living Posthaste per data folder, also from another container on the same volume, where two servers would destroy the database. */
export function lockDataFolder(dataDir: string): FileLock {
  const ownerFile = join(dataDir, 'postgres.owner')
  try {
    const lock = tryLockFile(join(dataDir, 'postgres.lock'))
    if (!lock) throw inUseError(dataDir, ownerFile)
    // Only for the sentence below; the lock itself is the truth.
    writeFileSync(ownerFile, `${process.pid} ${hostname()}\n`)
    return lock
  } catch (error) {
    if (error instanceof OperatorError) throw error
    const reason = (error as Error).message
    throw new OperatorError(`The data folder ${dataDir} cannot be locked (${reason}). Posthaste must be able to write there.`, {
      cause: error,
    })
  }
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

import { accessSync, chmodSync, chownSync, constants, lchownSync, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { OperatorError } from '../../base/errors.ts'

export interface ServerUser {
  uid: number
  gid: number
}

/** `nobody`. It is in every /etc/passwd, which initdb insists on, so no user has to be created. */
const nobody: ServerUser = { uid: 65534, gid: 65534 }

/** PostgreSQL refuses to run as root. Undefined means: as ourselves. Spread it into the options of `spawn`. */
export const serverUser = (): ServerUser | undefined => (process.geteuid?.() === 0 ? nobody : undefined)

const wanted = { enter: constants.X_OK, read: constants.R_OK, execute: constants.R_OK | constants.X_OK }

/** Answers for the server's user: as root, `access()` would say yes to everything, so the mode bits are read instead. */
export function serverUserMay(access: keyof typeof wanted, path: string): boolean {
  const user = serverUser()
  try {
    if (!user) accessSync(path, wanted[access])
    return !user || hasBits(path, user, wanted[access])
  } catch {
    // Missing or behind a closed folder: in either case, it may not.
    return false
  }
}

function hasBits(path: string, user: ServerUser, bits: number): boolean {
  const stat = statSync(path)
  const shift = stat.uid === user.uid ? 6 : stat.gid === user.gid ? 3 : 0
  return ((stat.mode >> shift) & bits) === bits
}

/** Whether the user that PostgreSQL runs as can get to this folder, which need not exist yet. */
export function isReachableByServerUser(path: string): boolean {
  return findClosedFolder(path) === undefined
}

/** The first folder on the way to `path` that the server's user may not enter. Not root: we are that user, and mkdir will tell. */
function findClosedFolder(path: string): string | undefined {
  if (!serverUser()) return undefined
  return foldersOnTheWay(nearestExisting(path)).find((folder) => !serverUserMay('enter', folder))
}

function nearestExisting(path: string): string {
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    try {
      return realpathSync(folder)
    } catch (error) {
      if (folder === dirname(folder)) throw error
    }
  }
}

/** From `/` down to the path itself. */
function foldersOnTheWay(path: string): string[] {
  const parent = dirname(path)
  return parent === path ? [path] : [...foldersOnTheWay(parent), path]
}

/** Creates the data folder and answers its real path: what is behind a symbolic link is what the server has to reach. */
export function prepareDataFolder(path: string): string {
  const folder = resolve(path)
  const closed = findClosedFolder(folder)
  if (closed) throw closedFolderError(folder, closed)
  try {
    makeDataFolder(folder)
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code
    throw new OperatorError(`The data folder ${folder} cannot be created (${reason}): set DATA_DIR to a folder that you may write to.`, {
      cause: error,
    })
  }
  return realpathSync(folder)
}

function makeDataFolder(folder: string): void {
  const firstCreated = mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (!firstCreated || !serverUser()) return
  // 0711 lets the server's user through to its cluster, without letting it list what else lies here.
  for (const made of foldersOnTheWay(folder).slice(foldersOnTheWay(firstCreated).length - 1)) chmodSync(made, 0o711)
}

const closedFolderError = (folder: string, closed: string) =>
  new OperatorError(
    `The data folder ${folder} cannot be used: PostgreSQL may not run as root, so it runs as user ${nobody.uid} (nobody), who may not enter ${closed}. ` +
      `Run "chmod o+x ${closed}", or set DATA_DIR to a folder that others may enter, such as /var/lib/posthaste.`,
  )

/** A new folder for the server alone. */
export function makeServerFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  chmodSync(path, 0o700)
  giveToServer(path)
}

export function giveToServer(path: string): void {
  const user = serverUser()
  if (!user) return
  try {
    chownSync(path, user.uid, user.gid)
  } catch (error) {
    throw new OperatorError(
      `${path} cannot be handed to user ${user.uid} (nobody), and PostgreSQL may not run as root. ` +
        'Run Posthaste as an ordinary user, or set DATABASE_URL to a PostgreSQL 15 or newer server.',
      { cause: error },
    )
  }
}

/** A cluster that was restored, or made under another user, still has to belong to the user that will run it. */
export function claimCluster(cluster: string): void {
  const user = serverUser()
  const owner = statSync(cluster).uid
  // Root's own, as after a restore by root, is handed over; an ordinary user's is not taken away from them.
  if (user && owner === 0) giveTree(cluster, user)
  else if (user && owner !== user.uid)
    throw new OperatorError(
      `The database in ${cluster} belongs to user ${owner}. Run Posthaste as that user, not as root; or hand the folder over once with "chown -R ${user.uid}".`,
    )
  if (!user && owner !== process.geteuid?.())
    throw new OperatorError(
      `The database in ${cluster} belongs to user ${owner}, and Posthaste runs as user ${process.geteuid?.()}. ` +
        `Start it as before${owner === nobody.uid ? ' (as root)' : ''}, or give it the folder once with "chown -R".`,
    )
  // A copy made with cp or tar may have lost the mode, and the server insists on it.
  if ((statSync(cluster).mode & 0o777) !== 0o700) chmodSync(cluster, 0o700)
}

function giveTree(folder: string, user: ServerUser): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    lchownSync(join(entry.parentPath, entry.name), user.uid, user.gid)
  // Last, because its owner is what says that the tree was done.
  giveToServer(folder)
}

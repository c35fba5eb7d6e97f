import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OperatorError } from '../../base/errors.ts'
import { giveToServer, isReachableByServerUser, serverUser } from './server-user.ts'

/** Only a part of the socket's file name: nothing listens on TCP. */
export const port = 5432

export const superuser = 'posthaste'

/** node-postgres settings for the server behind a socket. PGSSLMODE in the environment is about other servers. */
export const connectionThrough = (socketFolder: string) => ({
  host: socketFolder,
  port,
  user: superuser,
  database: 'posthaste',
  ssl: false as const,
})

export const socketPath = (folder: string) => join(folder, `.s.PGSQL.${port}`)

/** `sun_path` holds 108 bytes on Linux and 104 on macOS, the final zero included. */
const longestSocketPath = 103

const isShortEnough = (folder: string) => Buffer.byteLength(socketPath(folder)) <= longestSocketPath

/**
 * Where the socket lives: in the data folder, or, when that path is too long for a socket, in a folder for temporary files under a name
 * derived from it. The same data folder always gives the same name, so that a server left over is found again.
 *
 * The folder's mode is the whole of the access control (pg_hba.conf says `trust`): only the server's user and root may enter, and
 * they own the data files anyway. `peer` would add nothing but a need for a passwd entry, which a container's made-up user lacks.
 */
export function prepareSocketFolder(dataDir: string): string {
  const folder = join(dataDir, 'postgres.socket')
  if (isShortEnough(folder)) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    makePrivate(folder)
    return folder
  }
  const name = `posthaste-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`
  const parent = [tmpdir(), '/tmp', '/var/tmp'].find((base) => isShortEnough(join(base, name)) && isReachableByServerUser(base))
  if (!parent) throw new OperatorError(`The path ${dataDir} is too long for a Unix socket: set DATA_DIR to a shorter one.`)
  return makeTemporary(join(parent, name))
}

/** A folder for temporary files is everyone's: somebody else may have put something of ours' name there. */
function makeTemporary(folder: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const stat = lstatSync(folder)
  const trusted = [process.geteuid?.(), serverUser()?.uid]
  if (!stat.isDirectory() || !trusted.includes(stat.uid))
    throw new OperatorError(
      `${folder}, where PostgreSQL's socket should go, belongs to user ${stat.uid}: remove it, or set DATA_DIR to a shorter path.`,
    )
  makePrivate(folder)
  return folder
}

function makePrivate(folder: string): void {
  chmodSync(folder, 0o700)
  giveToServer(folder)
}

/** The socket's lock file names a process too, and would stop the next server where another process has that number now. */
export function clearSocketFolder(folder: string): void {
  for (const file of [socketPath(folder), `${socketPath(folder)}.lock`]) rmSync(file, { force: true })
}

/** Leaves nothing in /tmp. In the data folder it goes too: it is made anew at every start. */
export const removeSocketFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true })

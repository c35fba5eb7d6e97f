import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { OperatorError } from '../../base/errors.ts'
import { syncFolder } from '../../base/sync-folder.ts'
import type { Binaries } from './binaries.ts'
import { claimCluster, makeServerFolder, serverUser } from './server-user.ts'
import { serverEnvironment } from './settings.ts'
import { superuser } from './socket-folder.ts'

export const clusterFolder = (dataDir: string) => join(dataDir, 'postgres')
const versionFile = (dataDir: string) => join(dataDir, 'postgres.version')
const unfinishedPrefix = 'postgres.unfinished-'

/** Makes the cluster when there is none, and checks that an existing one is for these binaries and this user. */
export async function ensureCluster(dataDir: string, binaries: Binaries, isDurable: boolean): Promise<void> {
  await removeUnfinished(dataDir)
  const cluster = clusterFolder(dataDir)
  const major = readMajor(cluster)
  if (major !== undefined && major !== binaries.major) throw versionError(cluster, major, binaries.major)
  if (major === undefined) await createCluster(dataDir, binaries, isDurable)
  else claimCluster(cluster)
  if (!existsSync(versionFile(dataDir))) await writeSynced(versionFile(dataDir), `${binaries.major}\n`)
}

/** PG_VERSION is the server's own word, and goes with the folder when it is moved or restored; our file is there to be read by people. */
function readMajor(cluster: string): string | undefined {
  if (!existsSync(cluster)) return undefined
  const file = join(cluster, 'PG_VERSION')
  if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  if (readdirSync(cluster).length === 0) return undefined
  throw new OperatorError(`${cluster} holds files but no database: move it away, or set DATA_DIR to another folder.`)
}

const versionError = (cluster: string, found: string, expected: string) =>
  new OperatorError(
    `The database in ${cluster} was made by PostgreSQL ${found}, and this release of Posthaste runs PostgreSQL ${expected}. ` +
      'Run "posthaste backup" with the release you used before, move that folder away, and run "posthaste restore" with this one.',
  )

/**
 * initdb works in a folder of another name, and the rename is the moment the cluster exists: a kill at any time before leaves
 * rubbish to remove, never half a database.
 */
async function createCluster(dataDir: string, binaries: Binaries, isDurable: boolean): Promise<void> {
  const unfinished = await mkdtemp(join(dataDir, unfinishedPrefix))
  makeServerFolder(unfinished)
  await runInitdb(unfinished, binaries, isDurable)
  await writeSynced(versionFile(dataDir), `${binaries.major}\n`)
  await rename(unfinished, clusterFolder(dataDir))
  if (isDurable) await syncFolder(dataDir)
}

async function runInitdb(folder: string, binaries: Binaries, isDurable: boolean, letters = 'C.UTF-8'): Promise<void> {
  const child = spawn(
    binaries.initdb,
    [
      ...['--pgdata', folder, '--username', superuser, '--encoding', 'UTF8', '--data-checksums', '--no-instructions'],
      // Sorting and case rules that come with PostgreSQL itself: no upgrade of the system's libc can change them under an index.
      // The libc locale beneath is plain C, the only one that every system has, but for what a letter is: with C alone, the index
      // behind `search` would know Latin letters only.
      ...['--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8', '--locale', 'C', '--lc-ctype', letters],
      // See prepareSocketFolder for why the socket's folder is protection enough.
      ...['--auth-local', 'trust', '--auth-host', 'reject'],
      // One call for the file system instead of one for each of a thousand files.
      ...(!isDurable ? ['--no-sync'] : process.platform === 'linux' ? ['--sync-method', 'syncfs'] : []),
    ],
    { ...serverUser(), cwd: folder, env: serverEnvironment(), stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const exited = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  const [code, complaint] = await Promise.all([exited, text(child.stderr)]).catch((error) => {
    throw runError(binaries.initdb, error)
  })
  // An old libc may not have it; initdb has then cleaned up after itself.
  if (code !== 0 && letters !== 'C' && complaint.includes('locale')) return runInitdb(folder, binaries, isDurable, 'C')
  if (code !== 0)
    throw new OperatorError(`PostgreSQL could not create its database in ${folder}. It said:\n${complaint.trim()}${hint(complaint)}`)
}

/** initdb looks its own user up, even when told which name to use. */
const hint = (complaint: string) =>
  complaint.includes('could not look up effective user ID')
    ? '\nRun Posthaste as a user that is in /etc/passwd, or set DATABASE_URL to a PostgreSQL 15 or newer server.'
    : ''

/** The kernel says ENOENT for a program whose loader is missing: the binaries need glibc, and Alpine Linux has musl. */
export function runError(program: string, cause: NodeJS.ErrnoException): Error {
  const reason =
    cause.code === 'ENOENT' && existsSync(program) ? 'the system lacks the GNU C library that it needs' : (cause.code ?? cause.message)
  return new OperatorError(
    `${program} could not be run (${reason}). Set DATABASE_URL to a PostgreSQL 15 or newer server to do without it.`,
    {
      cause,
    },
  )
}

async function writeSynced(path: string, content: string): Promise<void> {
  const file = await open(path, 'w')
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** An initdb that outlived its killed parent may still be writing there: what cannot be removed now is at the next start. */
async function removeUnfinished(dataDir: string): Promise<void> {
  const leftovers = (await readdir(dataDir)).filter((name) => name.startsWith(unfinishedPrefix))
  await Promise.allSettled(leftovers.map((name) => rm(join(dataDir, name), { recursive: true, force: true })))
}

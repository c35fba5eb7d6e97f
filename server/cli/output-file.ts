import { createWriteStream, rmSync, statSync } from 'node:fs'
import { type FileHandle, open, rename } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { syncFolder } from '../base/sync-folder.ts'
import { UsageError } from './usage.ts'

/**
 * A file appears under its name only once it is whole and on the disk; until then it is called FILE.partial. Only its owner may read it.
 * `-` is standard output.
 */
export async function writeWhole<Result>(path: string, fill: (output: Writable) => Promise<Result>): Promise<Result> {
  if (path === '-') return fill(process.stdout)
  const partial = `${resolve(path)}.partial`
  const remove = () => rmSync(partial, { force: true })
  const file = await create(path, partial)
  // Ctrl-C ends a command by exit.
  process.once('exit', remove)
  try {
    // By number: a stream that is given the handle itself keeps it from ever closing.
    const result = await fill(createWriteStream(partial, { fd: file.fd, autoClose: false, highWaterMark: 1024 * 1024 }))
    await file.sync()
    await file.close()
    await rename(partial, resolve(path))
    await syncFolder(dirname(resolve(path)))
    return result
  } catch (error) {
    await file.close().catch(() => {}) // closed already, or the first error tells more
    remove()
    throw error
  } finally {
    process.off('exit', remove)
  }
}

async function create(path: string, partial: string): Promise<FileHandle> {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw new UsageError(`${path} is a folder: name a file in it.`)
  try {
    // What an earlier run left may be open to others' eyes.
    rmSync(partial, { force: true })
    return await open(partial, 'wx', 0o600)
  } catch (error) {
    throw new UsageError(`${partial} cannot be written (${(error as NodeJS.ErrnoException).code}).`, { cause: error })
  }
}

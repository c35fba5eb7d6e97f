import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder } from '../base/sync-folder.ts'
import { checkKey, checkPrefix } from './blob-key.ts'
import type { BlobStore } from './blob-store.ts'

/**
 * Blobs as files. The beginning of an id is the time when it was made, and the first six digits change every four or five hours: so no
 * folder grows without end, and what comes together lies together, where one sync is enough for all of it. A file is written and synced under another name first: under its own it is whole or not there, whatever happens in between.
 */
export function createFolderStore(root: string): BlobStore {
  const pathOf = (key: string) => {
    const parts = checkKey(key).split('/')
    const name = parts.pop() as string // a key has two parts at least
    return join(root, ...parts, name.slice(0, 6), name)
  }
  const syncTogether = createFolderSync()
  return {
    async put(key, bytes) {
      const path = pathOf(key)
      const folder = dirname(path)
      const partial = `${path}.${process.pid}-${partials++}`
      try {
        await writeDurably(partial, bytes).catch(async (error: NodeJS.ErrnoException) => {
          if (error.code !== 'ENOENT') throw error
          await makeFolder(folder)
          await writeDurably(partial, bytes)
        })
        await rename(partial, path)
      } catch (error) {
        await rm(partial, { force: true })
        throw error
      }
      await syncTogether(folder)
    },
    get: (key) => orNull(() => readFile(pathOf(key))),
    async remove(keys) {
      for (const path of keys.map(pathOf)) await rm(path, { force: true })
    },
    async removeAll(prefix) {
      await rm(join(root, checkPrefix(prefix)), { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

let partials = 0

/** While a folder is being synced, what else is renamed in it gathers for the next time. */
function createFolderSync(): (folder: string) => Promise<void> {
  const running = new Map<string, Promise<void>>()
  const next = new Map<string, Promise<void>>()
  return (folder) => {
    const gathering = next.get(folder)
    if (gathering) return gathering
    const before = running.get(folder) ?? Promise.resolve()
    const sync = before
      .catch(() => {})
      .then(() => {
        next.delete(folder)
        const own = syncFolder(folder).finally(() => {
          if (running.get(folder) === own) running.delete(folder)
        })
        running.set(folder, own)
        return own
      })
    next.set(folder, sync)
    return sync
  }
}

async function writeDurably(path: string, bytes: Buffer): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(bytes)
    await file.datasync()
  } finally {
    await file.close()
  }
}

/** Each new folder is an entry in the one above, which has to last as well. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = folder; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made))
}

async function orNull(read: () => Promise<Buffer>): Promise<Buffer | null> {
  try {
    return await read()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

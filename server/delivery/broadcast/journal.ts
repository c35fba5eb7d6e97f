import { closeSync, existsSync, fdatasyncSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { DeliveryId } from '../../base/ids.ts'

/**
 * What the peer has said yes to and the database does not know yet. The id of a delivery is appended in the moment of the 250, before
 * anything else; a file is thrown away once everything in it is settled. After a kill, whoever starts next settles what the files
 * hold before the leases of the dead process are released: what was accepted is never sent again.
 *
 * Appending is a plain write: the kernel keeps it when this process dies. Twice a second it is forced to the disk, so that a power cut
 * costs at most that much.
 */
const bytesPerId = 16
const rotateAfter = 10_000
const flushEveryMs = 500

export interface Journal {
  /** Throws when it cannot be written: then nothing more may be sent until `check` passes. */
  append(id: DeliveryId): void
  /** Throws when nothing could be appended now: a full disk, mostly. */
  check(): void
  /** These are in the database now. */
  settled(ids: DeliveryId[]): void
  close(): void
}

interface File {
  path: string
  descriptor: number
  written: number
  open: Set<DeliveryId>
}

export function openJournal(folder: string): Journal {
  mkdirSync(folder, { recursive: true })
  const files: File[] = []
  let number = 0
  const begin = (): File => {
    const path = join(folder, `${++number}.journal`)
    const file = { path, descriptor: openSync(path, 'a', 0o600), written: 0, open: new Set<DeliveryId>() }
    files.push(file)
    return file
  }
  const drop = (file: File) => {
    closeSync(file.descriptor)
    dirty.delete(file)
    rmSync(file.path, { force: true })
    files.splice(files.indexOf(file), 1)
  }
  let current: File | null = begin()
  const entry = Buffer.alloc(bytesPerId)
  const dirty = new Set<File>()
  const timer = setInterval(() => force(dirty), flushEveryMs)
  timer.unref()

  const writeEntry = (): File => {
    current ??= begin()
    const file = current
    try {
      if (writeSync(file.descriptor, entry) < bytesPerId) throw new Error('only a part of an entry could be written')
    } catch (error) {
      // A part of the entry may be in the file, and whatever came behind it would be misread.
      current = null
      if (file.open.size === 0) drop(file)
      throw error
    }
    dirty.add(file)
    if (++file.written >= rotateAfter) current = null
    return file
  }

  return {
    append(id) {
      entry.write(id.replaceAll('-', ''), 'hex')
      writeEntry().open.add(id)
    },
    check() {
      // No delivery has this id.
      entry.fill(0)
      writeEntry()
    },
    settled(ids) {
      for (const file of [...files]) {
        for (const id of ids) file.open.delete(id)
        if (file !== current && file.open.size === 0) drop(file)
      }
    },
    close() {
      clearInterval(timer)
      for (const file of [...files]) {
        if (file.open.size === 0) drop(file)
        else closeSync(file.descriptor)
      }
    },
  }
}

function force(dirty: Set<File>): void {
  for (const file of dirty) {
    dirty.delete(file)
    try {
      fdatasyncSync(file.descriptor)
    } catch {
      // What the kernel holds outlives this process all the same, and a disk that takes nothing shows with the next entry.
    }
  }
}

/** What a journal's folder holds; a last id that was cut off in the middle of its write was never acknowledged to anybody. */
export function readJournal(folder: string): DeliveryId[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith('.journal'))
    .flatMap((name) => idsIn(readFileSync(join(folder, name))))
}

function idsIn(bytes: Buffer): DeliveryId[] {
  const ids: DeliveryId[] = []
  for (let offset = 0; offset + bytesPerId <= bytes.length; offset += bytesPerId) {
    const hex = bytes.toString('hex', offset, offset + bytesPerId)
    ids.push(hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') as DeliveryId)
  }
  return ids
}

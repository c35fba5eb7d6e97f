import type { Database } from '../../database/database.ts'
import { parseAddress } from '../../mail/address.ts'
import { findListType, type ListKey } from '../lists/index.ts'
import { type ImportRow, importChunk, type Refusal, refuse } from './import-chunk.ts'

/** A line as it came, not looked at yet. */
export interface RawRow {
  line: number
  email: string
  name: string
  /** What the file says of them, in whichever words; empty when it says nothing. */
  status: string
}

export interface ImportResult {
  imported: number
  skipped: number
  errors: { email: string; reason: string }[]
  /** Reasons beyond the first ten thousand are counted, not kept: memory stays flat whatever is sent. */
  errors_omitted: number
}

interface ImportOptions {
  database: Database
  key: ListKey
  rows: AsyncIterable<RawRow[]> | Iterable<RawRow[]>
  onProgress?: ((result: ImportResult) => void) | undefined
}

/** Rows a transaction: enough that the commit does not count, few enough that other requests do not wait for us (p99 under 100 ms). */
export const chunkSize = 1_000
const chunksInFlight = 2
const maxErrors = 10_000
const maxNameLength = 200

/**
 * Imports rows chunk by chunk, each in a transaction of its own: a list of millions neither fills the memory nor holds up others.
 * One that is cut off has taken its first chunks; sent again, it skips them and goes on. Two chunks are under way at a time: while
 * the database inserts one, we read, check and tell of the other.
 */
export async function importRows({ database, key, rows, onProgress }: ImportOptions): Promise<ImportResult> {
  const isWaitlist = (await findListType(database, key)) === 'waitlist'
  const result: ImportResult = { imported: 0, skipped: 0, errors: [], errors_omitted: 0 }
  const note = (refused: Refusal[]) => {
    result.skipped += refused.length
    for (const { line, email, reason } of refused) {
      if (result.errors.length < maxErrors) result.errors.push({ email: ownCopy(email), reason: `${reason} (line ${line})` })
      else result.errors_omitted++
    }
  }
  const save = async (chunk: ImportRow[]) => {
    const done = await database.transaction((tx) => importChunk(tx, { ...key, isWaitlist }, chunk))
    result.imported += done.imported
    note(done.refused)
    onProgress?.(result)
  }

  const saving: Promise<void>[] = []
  let chunk = new Map<string, ImportRow>()
  const flush = async () => {
    // People who stand in line are let in one chunk after the other.
    if (saving.length === (isWaitlist ? 1 : chunksInFlight)) await saving.shift()
    const saved = save([...chunk.values()])
    // Awaited when its turn comes; until then a failure must not count as unhandled.
    saved.catch(() => {})
    saving.push(saved)
    chunk = new Map()
  }
  for await (const batch of rows) {
    for (const raw of batch) {
      const row = check(raw)
      if ('reason' in row) note([row])
      else if (chunk.has(row.email_key)) note([refuse(row, 'stands in this import twice')])
      else chunk.set(row.email_key, row)
      if (chunk.size === chunkSize) await flush()
    }
  }
  if (chunk.size > 0) await flush()
  await Promise.all(saving)
  return result
}

/** A cell is a slice of the text it was read from, and would keep all of that in memory. */
const ownCopy = (text: string): string => Buffer.from(text).toString()

/** Words that programs have for people who want mail. Whoever has any other status has left, or never asked: they are not to be mailed because a file came along. */
const wantsMail = /^(?:active|subscribed|subscriber|confirmed|enabled|opted[ -]?in|yes|true|1)?$/i

function check({ line, email, name, status }: RawRow): ImportRow | Refusal {
  if (email.includes('\ufffd')) return refuse({ line, email: email.slice(0, 254) }, 'is not UTF-8; save the file as UTF-8')
  const parsed = parseAddress(email)
  if (!parsed.ok) return refuse({ line, email: email.slice(0, 254) }, parsed.problem)
  if (!wantsMail.test(status))
    return refuse(
      { line, email: parsed.value.address },
      `has the status "${ownCopy(status.slice(0, 50))}" in this file, and only active people are imported`,
    )
  const trimmed = name.replace(/\s+/g, ' ').trim()
  const { address, key } = parsed.value
  if (trimmed.length > maxNameLength) return refuse({ line, email: address }, `has a name of more than ${maxNameLength} characters`)
  if (/[\0\ufffd]/.test(trimmed)) return refuse({ line, email: address }, 'has a name that is not UTF-8; save the file as UTF-8')
  return { line, email: address, email_key: key, name: trimmed || null }
}

import { createReadStream, statSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { csvLine } from '../base/csv.ts'
import { formatId } from '../base/ids.ts'
import type { Database } from '../database/database.ts'
import { type ImportResult, importCsv } from '../features/subscribers/index.ts'
import { findListAnywhere, leaveCommandAuditRow } from './cli-queries.ts'
import { withDatabase } from './open.ts'
import { writeWhole } from './output-file.ts'
import { count, createProgress, duration } from './progress.ts'
import { onOneLine } from './table.ts'
import { UsageError } from './usage.ts'

const shownErrors = 20

export async function importSubscribers({ file, list: wanted, errors }: { file: string; list: string; errors: string | undefined }) {
  const source = openSource(file)
  await withDatabase(async ({ database }) => {
    const list = await findListAnywhere(database, wanted)
    const key = { project_id: list.project_id, list_id: list.id }
    const target = { listId: formatId('lst', list.id) }
    await database.transaction((tx) => leaveCommandAuditRow(tx, list.project_id, { operation: 'subscribers.import', target }))
    const began = performance.now()
    const result = await load(database, key, source)
    if (errors !== undefined) await writeErrors(errors, result)
    tell(result, list.name, performance.now() - began)
    if (errors === undefined) tellErrors(result)
  })
}

interface Source {
  stream: Readable
  bytesRead(): number
  size: number | null
}

/** Looked at before the database is opened: a mistyped name is told at once. */
function openSource(file: string): Source {
  if (file === '-') return counted(process.stdin, null)
  const stat = statSync(file, { throwIfNoEntry: false })
  if (!stat) throw new UsageError(`There is no file ${file}.`)
  if (stat.isDirectory()) throw new UsageError(`${file} is a folder, not a file.`)
  return counted(createReadStream(file, { highWaterMark: 256 * 1024 }), stat.isFile() ? stat.size : null)
}

function counted(stream: Readable, size: number | null): Source {
  let bytes = 0
  const passed = async function* () {
    for await (const chunk of stream) {
      bytes += (chunk as Buffer).length
      yield chunk
    }
  }
  return { stream: Readable.from(passed(), { objectMode: false }), bytesRead: () => bytes, size }
}

async function load(database: Database, key: Parameters<typeof importCsv>[1], { stream, bytesRead, size }: Source): Promise<ImportResult> {
  const progress = createProgress('Importing')
  try {
    return await importCsv(database, key, {
      stream,
      onProgress: ({ imported, skipped }) => progress.show({ bytes: bytesRead(), of: size, rows: imported + skipped }),
    })
  } finally {
    progress.end()
  }
}

function tell({ imported, skipped }: ImportResult, list: string, ms: number): void {
  const rate = count(Math.round((imported + skipped) / Math.max(ms / 1000, 0.001)))
  console.log(`Imported ${count(imported)} into "${list}"; ${count(skipped)} skipped (${duration(ms)}, ${rate} rows/s).`)
}

function tellErrors({ errors, skipped }: ImportResult): void {
  for (const { email, reason } of errors.slice(0, shownErrors)) console.error(`  ${onOneLine(email)} ${reason}`)
  if (skipped > shownErrors) console.error(`  … and ${count(skipped - shownErrors)} more: --errors FILE writes them down.`)
}

async function writeErrors(file: string, { errors, errors_omitted }: ImportResult): Promise<void> {
  const lines = function* () {
    yield csvLine(['email', 'reason'])
    for (const { email, reason } of errors) yield csvLine([email, reason])
  }
  await writeWhole(file, (output) => pipeline(Readable.from(lines()), output))
  if (errors_omitted > 0) console.error(`${count(errors_omitted)} more were left out than ${file} names.`)
}

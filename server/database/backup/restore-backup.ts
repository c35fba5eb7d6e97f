import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { ConnectionSettings } from '../database.ts'
import { createMigrationTable, type Migration, migrationLock, readMigrations, runMigration } from '../migrate.ts'
import { columnList, dropIndexes, listTables, quoted, setSequences } from './catalogue.ts'
import { insertStagedEvents, moveCursors, stageEvents } from './event-order.ts'
import { BackupError, type Frame, type Header, type Section, type Trailer } from './format.ts'
import { type OnBytes, openBackup } from './read-backup.ts'
import { forLongWork } from './session.ts'
import { emptyDatabase, refuseUnfit } from './target.ts'

interface RestoreOptions {
  connection: ConnectionSettings
  /** A file that `verifyBackup` found whole. It is checked once more while it is loaded. */
  path: string
  header: Header
  force: boolean
  migrations?: Migration[]
  onBytes?: OnBytes
  /** Told what follows once the rows are loaded, which can take as long again. */
  onPhase?: (what: string) => void
  /** The last thing before the commit. The queued jobs lie in the temporary table `restored_jobs (job jsonb)`. */
  finish(client: Client): Promise<void>
}

export interface RestoreResult {
  rows: number
  /** Tables in the backup that no migration made: somebody else's, who shared the database. They are left out. */
  foreign: string[]
}

/**
 * One transaction, from emptying the database to the newest migration: whatever fails, nothing has changed. The rows are loaded into the
 * schema that they were saved from, and the migrations since then do with them what they would have done to the old database.
 */
export async function restoreBackup({ migrations = readMigrations(), ...options }: RestoreOptions): Promise<RestoreResult> {
  const { connection, header } = options
  refuseNewerBackup(header, migrations)
  const client = new Client({ ...connection, application_name: 'posthaste restore' })
  client.on('error', () => {}) // the query under way fails as well, and tells
  await client.connect()
  try {
    await client.query('begin')
    const result = await restore(client, options, migrations)
    await client.query('commit')
    options.onPhase?.('gathering statistics')
    // Else the first queries run on guesses, until the server gets round to it.
    await client.query('analyze')
    return result
  } finally {
    await client.end()
  }
}

function refuseNewerBackup({ migration, app_version }: Header, migrations: Migration[]): void {
  const newest = migrations.at(-1)?.number ?? 0
  if (migration > newest)
    throw new BackupError(
      `The backup was made by Posthaste ${app_version} (migration ${migration}), and this release knows migrations up to ${newest}. ` +
        'Update Posthaste, then try again.',
    )
}

async function restore(
  client: Client,
  { path, header, force, onBytes, onPhase = () => {}, finish }: Omit<RestoreOptions, 'migrations'>,
  migrations: Migration[],
): Promise<RestoreResult> {
  await forLongWork(client)
  await client.query(`set local maintenance_work_mem = '256MB'`)
  await client.query('select pg_advisory_xact_lock($1)', [migrationLock])
  await refuseUnfit(client, migrations, force)
  await emptyDatabase(client)
  await client.query(createMigrationTable)
  for (const migration of migrations) if (migration.number <= header.migration) await runMigration(client, migration)
  const makeIndexes = await dropIndexes(client)
  const result = await load(client, openBackup(path, onBytes))
  onPhase('building indexes')
  await makeIndexes()
  for (const migration of migrations) if (migration.number > header.migration) await runMigration(client, migration)
  await finish(client)
  return result
}

async function load(client: Client, frames: AsyncGenerator<Frame>): Promise<RestoreResult> {
  const known = new Set((await listTables(client)).map((table) => table.name))
  const loaded: Trailer['rows'] = {}
  const foreign: string[] = []
  await stageEvents(client)
  await client.query('create temp table restored_jobs (job jsonb) on commit drop')
  const take = async () => (await frames.next()).value as Frame // readFrames throws rather than end before the trailer
  try {
    await take() // the header
    let frame = await take()
    while (frame.kind === 'section') {
      const { section } = frame
      const data = async function* () {
        for (frame = await take(); frame.kind === 'data'; frame = await take()) yield frame.bytes
      }
      if (section.kind === 'table' && !known.has(section.name)) {
        foreign.push(section.name)
        for await (const _ of data());
      } else loaded[section.name] = await copyIn(client, section, data())
      if (section.name === 'events') await insertStagedEvents(client, section.columns)
    }
    const { trailer } = frame as Extract<Frame, { kind: 'trailer' }>
    refuseOtherCounts(loaded, trailer.rows)
    await moveCursors(client)
    await setSequences(
      client,
      trailer.sequences.filter(({ table }) => table === null || known.has(table)),
    )
    return { rows: Object.values(loaded).reduce((sum, rows) => sum + rows, 0), foreign }
  } finally {
    await frames.return(undefined)
  }
}

async function copyIn(client: Client, section: Section, data: AsyncIterable<Buffer>): Promise<number> {
  // What a migration has put there is in the backup as well, as it is now.
  await client.query(`delete from ${targetOf(section)}`)
  const rows = client.query(copyFrom(`copy ${targetOf(section)} (${columnList(section.columns)}) from stdin`))
  await pipeline(Readable.from(data, { objectMode: false }), rows)
  return rows.rowCount
}

function targetOf({ kind, name }: Section): string {
  if (kind === 'jobs') return 'restored_jobs'
  return name === 'events' ? 'restored_events' : quoted(name)
}

function refuseOtherCounts(loaded: Trailer['rows'], expected: Trailer['rows']): void {
  for (const [name, rows] of Object.entries(loaded))
    if (expected[name] !== rows) throw new BackupError(`Of "${name}", ${rows} rows were loaded, but the backup counted ${expected[name]}.`)
}

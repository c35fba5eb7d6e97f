import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { Client } from 'pg'
import { OperatorError } from '../base/errors.ts'
import type { ConnectionSettings } from './database.ts'

export interface Migration {
  number: number
  name: string
  text: string
  checksum: string
}

const folder = new URL('migrations/', import.meta.url)

/** Numbered SQL, forward only; each is safe while the previous release still runs. */
export const readMigrations = (): Migration[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => {
      const text = readFileSync(new URL(file, folder), 'utf8')
      return { number: Number(file.slice(0, 4)), name: file.slice(5, -4), text, checksum: createHash('sha256').update(text).digest('hex') }
    })

/** Any constant: two processes that start at once take turns. */
export const migrationLock = 7_303_014

export const createMigrationTable = `create table if not exists schema_migrations (
  number integer primary key, name text not null, checksum text not null, applied_at timestamptz not null default now())`

/** Brings the schema up to `upTo` (default: the newest). Answers the names of what it applied. */
export async function migrate(connection: ConnectionSettings, upTo = Number.POSITIVE_INFINITY): Promise<string[]> {
  const client = new Client(connection)
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [migrationLock])
    await client.query(createMigrationTable)
    const { rows } = await client.query<{ number: number; name: string; checksum: string }>(
      'select * from schema_migrations order by number',
    )
    const known = new Map(rows.map((row) => [row.number, row]))
    const applied: string[] = []
    for (const migration of readMigrations()) {
      if (migration.number > upTo) break
      const before = known.get(migration.number)
      if (before && before.checksum !== migration.checksum) {
        throw new OperatorError(
          `Migration ${migration.number} (${migration.name}) was changed after this database ran it. Restore the file; add a new migration instead.`,
        )
      }
      if (before) continue
      await apply(client, migration)
      applied.push(migration.name)
    }
    return applied
  } finally {
    await client.end()
  }
}

async function apply(client: Client, migration: Migration): Promise<void> {
  await client.query('begin')
  try {
    await runMigration(client, migration)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

/** In the caller's transaction. */
export async function runMigration(client: Client, { number, name, text, checksum }: Migration): Promise<void> {
  try {
    await client.query(text)
    await client.query('insert into schema_migrations (number, name, checksum) values ($1, $2, $3)', [number, name, checksum])
  } catch (error) {
    throw new OperatorError(`Migration ${number} (${name}) failed: ${(error as Error).message}`, { cause: error })
  }
}

/** The newest migration this code knows. */
export const newestMigration = (): number => readMigrations().at(-1)?.number ?? 0

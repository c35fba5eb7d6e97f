import { type Client, escapeIdentifier } from 'pg'
import type { Migration } from '../migrate.ts'
import { isOfExtension, quoted } from './catalogue.ts'
import { BackupError } from './format.ts'

interface Found {
  name: string
  kind: 'table' | 'view' | 'materialized view' | 'sequence'
}

/** Everything in the schema that somebody made, but for what goes with a table: its partitions, its own sequences. */
async function listRelations(client: Client): Promise<Found[]> {
  const { rows } = await client.query<Found>(`
    select c.relname as name,
      case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence' else 'table' end as kind
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'S') and not c.relispartition and not ${isOfExtension}
      and not (c.relkind = 'S' and exists (
        select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i')))
    order by c.relname`)
  return rows
}

/** A process of ours would write between the rows that are being loaded. Its name is the one that `openDatabase` gives. */
export async function refuseRunningPosthaste(client: Client): Promise<void> {
  const { rowCount } = await client.query(
    `select from pg_stat_activity where datname = current_database() and application_name = 'posthaste' limit 1`,
  )
  if (rowCount) throw new BackupError('A Posthaste is running on this database. Stop it, then restore.')
}

/** Throws unless a restore may take this database over: it must be ours, of no later release, and without `force` have no row to lose. */
export async function refuseUnfit(client: Client, migrations: Migration[], force: boolean): Promise<void> {
  const relations = await listRelations(client)
  refuseForeign(relations, migrations)
  if (relations.some(({ name }) => name === 'schema_migrations')) await refuseNewer(client, migrations)
  if (!force) await refuseOccupied(client, relations)
}

/** Leaves nothing of ours in the database, in the caller's transaction: a restore that fails brings back what was there. */
export async function emptyDatabase(client: Client): Promise<void> {
  for (const { name, kind } of await listRelations(client)) await client.query(`drop ${kind} if exists ${quoted(name)} cascade`)
  await dropRoutines(client)
}

const making = /(?:create[a-z ]*? (?:table|view|sequence)(?: if not exists)?|rename to) (\w+)/gi

function refuseForeign(relations: Found[], migrations: Migration[]): void {
  const made = new Set(migrations.flatMap(({ text }) => [...text.matchAll(making)].map((match) => match[1])))
  const foreign = relations.map(({ name }) => name).filter((name) => name !== 'schema_migrations' && !made.has(name))
  if (foreign.length === 0) return
  const named = foreign.slice(0, 5).join(', ') + (foreign.length > 5 ? ', …' : '')
  throw new BackupError(`The database holds tables that Posthaste did not make (${named}). Restore into a database of its own.`)
}

async function refuseNewer(client: Client, migrations: Migration[]): Promise<void> {
  const { rows } = await client.query<{ number: number | null }>('select max(number) as number from schema_migrations')
  if ((rows[0]?.number ?? 0) > (migrations.at(-1)?.number ?? 0))
    throw new BackupError('The database was used by a newer release of Posthaste. Restore with that release, or into a new database.')
}

/** What migrations fill themselves: rows there say nothing of use. */
const filledByMigrations = new Set(['schema_migrations', 'event_consumers'])

async function refuseOccupied(client: Client, relations: Found[]): Promise<void> {
  for (const { name, kind } of relations) {
    if (kind !== 'table' || filledByMigrations.has(name)) continue
    const { rowCount } = await client.query(`select from ${quoted(name)} limit 1`)
    if (rowCount)
      throw new BackupError(
        `The database is not empty: there are rows in "${name}". Restore into a new one, or use --force, which removes all that it holds.`,
      )
  }
}

async function dropRoutines(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string; arguments: string }>(`
    select p.proname as name, pg_get_function_identity_arguments(p.oid) as arguments from pg_proc p
    where p.pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')`)
  for (const routine of rows) await client.query(`drop routine public.${escapeIdentifier(routine.name)}(${routine.arguments}) cascade`)
}

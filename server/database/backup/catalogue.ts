import { type Client, escapeIdentifier } from 'pg'
import { OperatorError } from '../../base/errors.ts'

/** A table whose rows belong in a backup. */
export interface Table {
  name: string
  /** All but the generated ones, which PostgreSQL computes again. */
  columns: string[]
  is_partitioned: boolean
  bytes: number
  /** The tables that its rows point to. */
  needs: string[]
}

/**
 * Every table of ours, as the catalogue knows them, so that a new feature's are backed up without being told here. Left out are
 * unlogged ones, whose loss is forgiven anyway, and extensions' own. A table stands after those that its foreign keys point to.
 */
export async function listTables(client: Client): Promise<Table[]> {
  const { rows } = await client.query<Table>(`
    select c.relname as name, c.relkind = 'p' as is_partitioned, pg_table_size(c.oid) as bytes,
      array(select a.attname::text from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum) as columns,
      array(select distinct f.relname::text from pg_constraint k join pg_class f on f.oid = k.confrelid
        where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as needs
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence = 'p'
      and c.relname <> 'schema_migrations' and not ${isOfExtension}
    order by c.relname`)
  return inOrder(rows.map((table) => ({ ...table, bytes: Number(table.bytes) })))
}

/** In a query with `pg_class c`. */
export const isOfExtension = `exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`

function inOrder(tables: Table[]): Table[] {
  const placed = new Map<string, Table>()
  const byName = new Map(tables.map((table) => [table.name, table]))
  const place = (table: Table, way: string[]): void => {
    if (placed.has(table.name)) return
    if (way.includes(table.name))
      throw new OperatorError(`The foreign keys of ${[...way, table.name].join(' → ')} form a circle, so no order loads them.`)
    for (const needed of table.needs) {
      const other = byName.get(needed)
      if (other) place(other, [...way, table.name])
    }
    placed.set(table.name, table)
  }
  for (const table of tables) place(table, [])
  return [...placed.values()]
}

export const quoted = (name: string): string => `public.${escapeIdentifier(name)}`
export const columnList = (columns: string[]): string => columns.map(escapeIdentifier).join(', ')

export interface Sequence {
  name: string
  /** The table that it counts for; null for one that stands alone. */
  table: string | null
  last_value: string
  is_called: boolean
}

/** Sequences stand outside of transactions: read after the rows, none is behind them. */
export async function readSequences(client: Client): Promise<Sequence[]> {
  const { rows } = await client.query<Pick<Sequence, 'name' | 'table'>>(`
    select c.relname as name, (
      select t.relname from pg_depend d join pg_class t on t.oid = d.refobjid
      where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i')) as table
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'S' and c.relpersistence = 'p' and not ${isOfExtension}
    order by c.relname`)
  const sequences: Sequence[] = []
  for (const { name, table } of rows) {
    const state = await client.query<Pick<Sequence, 'last_value' | 'is_called'>>(`select last_value::text, is_called from ${quoted(name)}`)
    sequences.push({ name, table, ...state.rows[0]! }) // a sequence is a relation of one row
  }
  return sequences
}

export async function setSequences(client: Client, sequences: Sequence[]): Promise<void> {
  for (const { name, last_value, is_called } of sequences)
    await client.query('select setval($1::regclass, $2::bigint, $3)', [quoted(name), last_value, is_called])
}

/**
 * Takes every index away that no constraint needs, and answers how to make them again: built from all rows at once, they take a
 * fraction of the time.
 */
export async function dropIndexes(client: Client): Promise<() => Promise<void>> {
  const { rows } = await client.query<{ name: string; definition: string }>(`
    select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relnamespace = 'public'::regnamespace and not c.relispartition and not ${isOfExtension}
      and not exists (select from pg_constraint k where k.conindid = i.indexrelid)`)
  for (const { name } of rows) await client.query(`drop index ${name}`)
  return async () => {
    for (const { definition } of rows) await client.query(definition)
  }
}

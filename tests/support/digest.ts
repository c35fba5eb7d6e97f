import type { ConnectionSettings } from '../../server/database/database.ts'
import { withClient } from './database.ts'

/** Where an event stands is the one thing that a restore may change: transaction ids belong to a server. */
const ofPlace = ['transaction_id', 'position']

/** Rows and a digest of every column of every table, generated ones included. Equal means equal. */
export const digestsOf = (connection: ConnectionSettings): Promise<Record<string, string>> =>
  withClient(connection, async (client) => {
    await client.query(`set timezone = 'UTC'`)
    const { rows: tables } = await client.query<{ name: string; columns: string }>(
      `select c.relname as name, string_agg(quote_ident(a.attname), ', ' order by a.attname) as columns
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attname <> all($1)
       where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relpersistence = 'p' and c.relname <> 'schema_migrations'
       group by c.relname order by c.relname`,
      [ofPlace],
    )
    const digests: Record<string, string> = {}
    for (const { name, columns } of tables) {
      const { rows } = await client.query<{ digest: string }>(
        `select count(*) || ' rows ' || coalesce(md5(string_agg(line, E'\\n' order by line)), '') as digest
         from (select row(${columns})::text as line from public."${name}") lines`,
      )
      digests[name] = rows[0]?.digest ?? ''
    }
    return digests
  })

import type { Client } from 'pg'

/** Text that means the same on any server, and no limit on how long it takes. For one transaction. */
export async function forLongWork(client: Client): Promise<void> {
  const settings: Record<string, string> = {
    client_encoding: 'UTF8',
    DateStyle: 'ISO, YMD',
    IntervalStyle: 'postgres',
    TimeZone: 'UTC',
    extra_float_digits: '3',
    bytea_output: 'hex',
    statement_timeout: '0',
    lock_timeout: '0',
    idle_in_transaction_session_timeout: '0',
  }
  for (const [name, value] of Object.entries(settings)) await client.query('select set_config($1, $2, true)', [name, value])
}

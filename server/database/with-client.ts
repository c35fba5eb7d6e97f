import { Client } from 'pg'
import type { ConnectionSettings } from './database.ts'

/** One session of one's own, for work that a pool is too much for. */
export async function withClient<Result>(connection: ConnectionSettings, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionTimeoutMillis: 10_000, ...connection })
  // The server may go away at any moment; the query under way fails then and tells, and this event would end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

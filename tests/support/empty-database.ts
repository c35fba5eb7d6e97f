import { randomBytes } from 'node:crypto'
import type { ConnectionSettings } from '../../server/database/database.ts'
import { onDatabase, testServer, withClient } from './database.ts'

/** A database with nothing in it, as a new server has it. */
export async function createEmptyDatabase(): Promise<{ connection: ConnectionSettings; drop(): Promise<void> }> {
  const name = `posthaste_test_${randomBytes(6).toString('hex')}`
  const admin = onDatabase(testServer(), 'postgres')
  await withClient(admin, (client) => client.query(`create database ${name}`))
  return {
    connection: onDatabase(testServer(), name),
    drop: async () => {
      await withClient(admin, (client) => client.query(`drop database if exists ${name} with (force)`))
    },
  }
}

/** What a test works in as DATABASE_URL. A Unix socket's folder goes in as a parameter. */
export const urlOf = ({ connectionString, host, port, user, database }: ConnectionSettings): string =>
  connectionString ?? `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(String(host))}`

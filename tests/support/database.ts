import { randomBytes } from 'node:crypto'
import type { ConnectionSettings } from '../../server/database/database.ts'
import { withClient } from '../../server/database/with-client.ts'

export { withClient }

/** How `npm test` tells each test file which server it runs on: connection settings as JSON. */
export const serverVariable = 'POSTHASTE_TEST_SERVER'
export const templateName = 'posthaste_test_template'

export function testServer(): ConnectionSettings {
  const text = process.env[serverVariable]
  if (!text) throw new Error('Tests run through `npm test`, or `npm test -- path/of/one.test.ts`: it starts the database they need.')
  return JSON.parse(text) as ConnectionSettings
}

export const onDatabase = (server: ConnectionSettings, database: string): ConnectionSettings => {
  if (!server.connectionString) return { ...server, database }
  const url = new URL(server.connectionString)
  url.pathname = `/${database}`
  return { connectionString: url.href }
}

/** A database of its own, cloned from the migrated template. */
export async function cloneDatabase(): Promise<{ connection: ConnectionSettings; drop(): Promise<void> }> {
  const server = testServer()
  const name = `posthaste_test_${randomBytes(6).toString('hex')}`
  const admin = onDatabase(server, 'postgres')
  await withClient(admin, (client) => client.query(`create database ${name} template ${templateName}`))
  return {
    connection: onDatabase(server, name),
    drop: async () => {
      await withClient(admin, (client) => client.query(`drop database if exists ${name} with (force)`))
    },
  }
}

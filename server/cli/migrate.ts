import { migrate } from '../database/migrate.ts'
import { allJobs } from '../jobs/all-jobs.ts'
import { startJobs } from '../jobs/jobs.ts'
import { readSetup, schemaNumber, withClient, withPool, withServer } from './open.ts'

/** Applies what is missing, and makes the job queue ready, so that the starts that follow are quick. */
export async function migrateDatabase(): Promise<void> {
  const setup = readSetup()
  await withServer({ ...setup, mayCreate: true }, async (server) => {
    const applied = await migrate(server.connection)
    await withPool(setup, server, async ({ database, log }) => (await startJobs(database, log, allJobs)).stop())
    const number = await withClient(server.connection, schemaNumber)
    for (const name of applied) console.log(`Applied ${name}`)
    console.log(applied.length > 0 ? `The schema is at migration ${number}.` : `The schema is up to date (migration ${number}).`)
  })
}

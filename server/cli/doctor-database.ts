import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from 'pg'
import type { Config } from '../base/config.ts'
import { reasonOf } from '../base/errors.ts'
import { createSecrets, keyFromBackup, secretKeyFile } from '../base/secrets.ts'
import { dataDirOf } from '../database/connect.ts'
import type { Database } from '../database/database.ts'
import { newestMigration } from '../database/migrate.ts'
import { lookAtServer } from '../database/server-fitness.ts'
import { maxAttempts } from '../inbound/process-spool.ts'
import { checkCertificates, hasCertificates } from './doctor-certificates.ts'
import type { Check } from './doctor-check.ts'
import { checkAddresses, checkMailRecords } from './doctor-sending.ts'
import { type Setup, schemaNumber, withClient, withPool, withServer } from './open.ts'
import { checkRawMessages } from './raw-messages.ts'

export interface DatabaseChecks {
  checks: Check[]
  /** How far its clock is from ours; null when it could not be asked. */
  skewMs: number | null
}

/** Reached, recent enough, migrated, and ours. What cannot be asked without the one before is left out. */
export async function checkDatabase(setup: Setup): Promise<DatabaseChecks> {
  const { config } = setup
  const dataDir = dataDirOf(config)
  if (!config.DATABASE_URL && !existsSync(join(dataDir, 'postgres')))
    return alone({ name: 'database', state: 'warning', seen: `none yet in ${dataDir}`, next: 'The first "posthaste start" makes it.' })
  try {
    return await withServer(setup, async (server) => {
      const { connection, place, isShared } = server
      const asked = await withClient(connection, (client) =>
        askAll(client, config, isShared ? `${place}, in use by a running Posthaste` : place),
      )
      if (!asked.isMigrated) return asked
      const more = await withPool(setup, server, ({ database }) => checkContent(config, database))
      return { ...asked, checks: [...asked.checks, ...more] }
    })
  } catch (error) {
    // It says itself what to do.
    return alone({ name: 'database', state: 'bad', seen: reasonOf(error) })
  }
}

/** What takes the queries of this release, and so its schema. */
const checkContent = async (config: Config, database: Database): Promise<Check[]> => [
  await checkRawMessages(config, database),
  ...(await checkAddresses(config, database)),
  ...(await checkMailRecords(config, database)),
]

const alone = (check: Check): DatabaseChecks => ({ checks: [check], skewMs: null })

async function askAll(client: Client, config: Config, place: string): Promise<DatabaseChecks & { isMigrated: boolean }> {
  const checks = [await checkVersion(client, place), await checkMigrations(client)]
  const number = await schemaNumber(client)
  if (number !== null) checks.push(await checkSecretKey(client, config), await checkJobs(client), await checkSpool(client))
  if (config.HTTPS_PORT !== null && (await hasCertificates(client))) checks.push(await checkCertificates(client))
  return { checks, skewMs: await measureSkew(client), isMigrated: number !== null && number >= newestMigration() }
}

async function measureSkew(client: Client): Promise<number> {
  const before = Date.now()
  const { rows } = await client.query<{ now: Date }>('select clock_timestamp() as now')
  const ours = (before + Date.now()) / 2
  return ours - (rows[0]?.now.getTime() ?? ours)
}

async function checkVersion(client: Client, place: string): Promise<Check> {
  const { version, isTooOld, encoding, isUtf8 } = await lookAtServer(client)
  const seen = `PostgreSQL ${version} at ${place}`
  const name = 'database'
  if (isTooOld) return { name, state: 'bad', seen, next: 'Use PostgreSQL 15 or newer, or unset DATABASE_URL to use the embedded one.' }
  if (!isUtf8)
    return {
      name,
      state: 'bad',
      seen: `${seen}, encoded in ${encoding}`,
      next: 'Create a database in UTF-8 (createdb -E UTF8 -T template0).',
    }
  return { name, state: 'good', seen }
}

async function checkMigrations(client: Client): Promise<Check> {
  const [number, newest] = [await schemaNumber(client), newestMigration()]
  const name = 'migrations'
  if (number === null) return { name, state: 'warning', seen: 'no schema yet', next: 'Run "posthaste migrate", or "posthaste start".' }
  if (number < newest)
    return { name, state: 'warning', seen: `at ${number} of ${newest}`, next: 'Run "posthaste migrate", or "posthaste start".' }
  if (number > newest)
    return { name, state: 'warning', seen: `at ${number}, newer than this release (${newest})`, next: 'Run the newer release here too.' }
  return { name, state: 'good', seen: `up to date (${number})` }
}

async function checkSecretKey(client: Client, config: Config): Promise<Check> {
  const name = 'secret key'
  const { rows } = await client.query<{ secret_fingerprint: string }>('select secret_fingerprint from public.instance')
  const file = secretKeyFile(dataDirOf(config))
  const source = config.SECRET_KEY ? 'SECRET_KEY' : file
  const key = config.SECRET_KEY ?? (existsSync(file) ? readFileSync(file, 'utf8').trim() : null)
  if (!rows[0]) return { name, state: 'good', seen: key ? `from ${source}` : `made in ${file} by the first start` }
  if (key === null) return { name, state: 'bad', seen: `${file} is missing`, next: `${keyFromBackup} Or set SECRET_KEY to it.` }
  if (createSecrets(key).fingerprint === rows[0].secret_fingerprint)
    return { name, state: 'good', seen: `from ${source}, the one of this database` }
  return {
    name,
    state: 'bad',
    seen: `${source} is not the key of this database`,
    next: `Use the key that it was set up with. ${keyFromBackup}`,
  }
}

/** Jobs are tried again by themselves; those that failed for good are kept for a week. */
async function checkJobs(client: Client): Promise<Check> {
  const name = 'jobs'
  const { rows: known } = await client.query<{ table: string | null }>(`select to_regclass('jobs.job')::text as table`)
  if (!known[0]?.table) return { name, state: 'good', seen: 'none yet' }
  const { rows } = await client.query<{ name: string; failed: number }>(
    `select name, count(*)::int as failed from jobs.job
     where state = 'failed' and completed_on > now() - interval '7 days' group by name order by name`,
  )
  if (rows.length === 0) return { name, state: 'good', seen: 'none failed in the last 7 days' }
  const seen = `failed in the last 7 days: ${rows.map((row) => `${row.name} (${row.failed})`).join(', ')}`
  return { name, state: 'warning', seen, next: 'Look for "a job failed" in the log of the process with the role scheduler.' }
}

/** Mail that was accepted and cannot be filed, for which somebody has to look, and mail that nobody files. */
async function checkSpool(client: Client): Promise<Check> {
  const name = 'inbound mail'
  const { rows: known } = await client.query<{ table: string | null }>(`select to_regclass('public.inbound_spool')::text as table`)
  if (!known[0]?.table) return { name, state: 'good', seen: 'none yet' }
  const { rows } = await client.query<{ stuck: number; first: string | null; late: number }>(
    `select count(*) filter (where problem is not null or attempts >= $1)::int as stuck,
       (array_agg(id || coalesce(': ' || problem, '') order by id) filter (where problem is not null or attempts >= $1))[1] as first,
       count(*) filter (where next_attempt_at < now() - interval '5 minutes')::int as late
     from public.inbound_spool where next_attempt_at is not null`,
    [maxAttempts],
  )
  const { stuck = 0, first = null, late = 0 } = rows[0] ?? {}
  if (stuck > 0)
    return {
      name,
      state: 'warning',
      seen: `${stuck} could not be filed, such as ${first}`,
      next: 'Look for that inbound_id in the log of the process with the role inbound.',
    }
  if (late > 0)
    return {
      name,
      state: 'warning',
      seen: `${late} in the spool for more than five minutes`,
      next: 'Start a process with inbound in its ROLES.',
    }
  return { name, state: 'good', seen: 'none waits to be filed' }
}

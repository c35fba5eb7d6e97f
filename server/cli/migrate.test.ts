import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { posthaste } from '../../tests/support/command-line.ts'
import { withClient } from '../../tests/support/database.ts'
import { createEmptyDatabase, urlOf } from '../../tests/support/empty-database.ts'
import { newestMigration, readMigrations } from '../database/migrate.ts'

const target = await createEmptyDatabase()
after(target.drop)
const env = { DATABASE_URL: urlOf(target.connection) }

test('migrate tells what it applied, makes the job queue ready, and has nothing to do the second time', async () => {
  const first = await posthaste(['migrate'], env)
  const names = readMigrations().map(({ name }) => `Applied ${name}\n`)
  assert.deepEqual([first.code, first.stdout], [0, `${names.join('')}The schema is at migration ${newestMigration()}.\n`])
  const { rows } = await withClient(target.connection, (client) => client.query(`select name from jobs.queue where name = 'lists.purge'`))
  assert.equal(rows.length, 1)
  const second = await posthaste(['migrate'], env)
  assert.equal(second.stdout, `The schema is up to date (migration ${newestMigration()}).\n`)
})

test('commands refuse an older schema and say what to run; a newer one is fine', async () => {
  const moveBy = (difference: number) =>
    withClient(target.connection, (client) => client.query('update schema_migrations set number = number + $1', [difference]))
  await moveBy(-1_000)
  const older = await posthaste(['keys', 'list'], env)
  assert.match(
    older.stderr,
    /^The database is at migration -\d+, and this release needs \d+\. Run "posthaste migrate" or "posthaste start" first\.\n$/,
  )
  await moveBy(2_000)
  const newer = await posthaste(['keys', 'list'], env)
  assert.equal(newer.stderr, 'This database has no owner yet. Run "posthaste start" once.\n')
})

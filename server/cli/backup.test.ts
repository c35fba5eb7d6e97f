import assert from 'node:assert/strict'
import { cpSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { posthaste, temporaryFolder } from '../../tests/support/command-line.ts'
import { cloneDatabase, withClient } from '../../tests/support/database.ts'
import { digestsOf } from '../../tests/support/digest.ts'
import { createEmptyDatabase, urlOf } from '../../tests/support/empty-database.ts'
import { fileMail, newMailbox } from '../../tests/support/inbound.ts'
import { startApp } from '../../tests/support/posthaste.ts'
import { systemClock } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import { createLog } from '../base/log.ts'
import { openDatabase } from '../database/database.ts'
import { purgeList } from '../features/lists/index.ts'
import { allJobs } from '../jobs/all-jobs.ts'
import { defineJob, startJobs } from '../jobs/jobs.ts'
import type { Check } from './doctor-check.ts'

const folder = temporaryFolder()
const SECRET_KEY = 'a key for tests, long enough to be taken'
const log = createLog('silent')
const goneJob = defineJob<object>({ name: 'gone.kind', run: async () => {} })

/** A database with an owner, a list, people and jobs that wait; and its backup. */
async function makeSource() {
  const source = await cloneDatabase()
  after(source.drop)
  const app = await startApp({ ROLES: 'http' }, { connection: source.connection })
  const project = await app.newProject()
  const list = await project.post('/lists', { name: 'Saved' })
  await project.post(`/lists/${list.body.id}/subscribers`, { email: 'reader@example.com', name: 'Reader' })
  const { address } = await newMailbox(app, project)
  await fileMail(app, { recipients: [address], text: 'x'.repeat(200_000) })
  await fileMail(app, { recipients: [address], text: 'small: it stays in the database' })
  const blobs = join(String(app.config.DATA_DIR), 'blobs')
  await app.stop()
  const database = openDatabase({ connection: source.connection, clock: systemClock, log })
  const jobs = await startJobs(database, log, [...allJobs, goneJob])
  const key = { project_id: project.id, list_id: newId<'lst'>() }
  await database.transaction(async (tx) => {
    await jobs.enqueue(tx, purgeList, key)
    await jobs.enqueue(tx, goneJob, { nothing: null })
  })
  await jobs.stop()
  await database.close()
  const file = join(folder, 'source.backup')
  const saved = await posthaste(['backup', file], { DATABASE_URL: urlOf(source.connection), SECRET_KEY, DATA_DIR: folder })
  return { connection: source.connection, file, saved, key, blobs }
}

const source = await makeSource()
const bytes = readFileSync(source.file)

const emptyDatabase = async () => {
  const target = await createEmptyDatabase()
  after(target.drop)
  return { connection: target.connection, env: { DATABASE_URL: urlOf(target.connection), SECRET_KEY, DATA_DIR: folder } }
}
const queueOf = (connection: Parameters<typeof withClient>[0]) =>
  withClient(connection, async (client) => (await client.query(`select name, data, state from jobs.job order by name`)).rows)

test('backup writes one file, for its owner alone, and tells what is in it', async () => {
  assert.equal(source.saved.code, 0, source.saved.stderr)
  assert.match(
    source.saved.stderr,
    /^Backed up \d+ rows, \d+\.\d MB before compression, in \d+\.\d s\.\nSECRET_KEY is not inside\. Keep it as well/,
  )
  assert.equal(statSync(source.file).mode & 0o777, 0o600)
  assert.equal(existsSync(`${source.file}.partial`), false)
  const checked = await posthaste(['restore', source.file, '--check'], {})
  assert.match(
    checked.stdout,
    /^The file is whole\. Made 20\S+Z by Posthaste \d+\.\d+\.\d+, at migration \d+\.\nThe secret key is not inside\.\n/,
  )
  assert.match(checked.stdout, /^Not inside: 1 raw message \(0\.2 MB\), in DATA_DIR\/blobs or in the store that BLOB_URL named\./m)
  assert.match(checked.stdout, /^ {2}subscribers +1$/m)
  assert.match(checked.stdout, /^ {2}queued jobs +2$/m)
})

test('restore brings back rows and waiting jobs, and leaves out jobs that this release does not know', async () => {
  const { connection, env } = await emptyDatabase()
  const restored = await posthaste(['restore', source.file], env)
  assert.equal(restored.code, 0, restored.stderr)
  assert.match(
    restored.stdout,
    /^Restored \d+ rows into PostgreSQL at .* in \d+\.\d s\. "posthaste start" runs it\.\nLeft out 1 queued jobs of kinds that this release does not know\.\nNot in the file: /,
  )
  assert.deepEqual(await digestsOf(connection), await digestsOf(source.connection))
  assert.deepEqual(await queueOf(connection), [{ name: 'lists.purge', data: source.key, state: 'created' }])
})

test('what is in no backup is counted by backup, restore and doctor, and looked for', async () => {
  assert.ok(
    source.saved.stderr.endsWith(`Not inside: 1 raw message (0.2 MB). Copy ${join(folder, 'blobs')} as well, now that this is done.\n`),
  )
  const { env } = await emptyDatabase()
  const DATA_DIR = join(folder, 'moved')
  const there = { ...env, DATA_DIR, PORT: '0', SMTP_PORT: '0' }
  const restore = async () => (await posthaste(['restore', source.file, '--force'], there)).stdout.trimEnd().split('\n').at(-1)
  const look = async () => {
    const { code, stdout } = await posthaste(['doctor', '--json'], there)
    const { state, seen } = (JSON.parse(stdout) as Check[]).find(({ name }) => name === 'raw messages') ?? {}
    return { code, state, seen }
  }
  const blobs = join(DATA_DIR, 'blobs')
  assert.equal(
    await restore(),
    `Not in the file: 1 raw message (0.2 MB), which ${blobs} does not have either. Copy the folder blobs of the DATA_DIR that the backup is from there.`,
  )
  const gone = `1 raw message (0.2 MB) in ${blobs}: 1 of 1 that were looked for are not there`
  assert.deepEqual(await look(), { code: 1, state: 'bad', seen: gone })
  cpSync(source.blobs, blobs, { recursive: true })
  assert.deepEqual(await look(), { code: 0, state: 'good', seen: `1 raw message (0.2 MB) in ${blobs}, beside every backup` })
  assert.equal(await restore(), `Not in the file: 1 raw message (0.2 MB), which ${blobs} has.`)
})

test('a backup goes through pipes as well', async () => {
  const { connection, env } = await emptyDatabase()
  const restored = await posthaste(['restore', '-'], env, bytes)
  assert.equal(restored.code, 0, restored.stderr)
  assert.deepEqual(await digestsOf(connection), await digestsOf(source.connection))
})

test('a file that is not whole changes nothing, even with --force', async () => {
  const { connection, env } = await emptyDatabase()
  await posthaste(['restore', source.file], env)
  await withClient(connection, (client) => client.query(`update lists set name = 'Changed since'`))
  const [before, jobs] = [await digestsOf(connection), await queueOf(connection)]
  const damaged = Buffer.from(bytes)
  damaged[bytes.length >> 1] = (damaged[bytes.length >> 1] as number) ^ 1
  for (const content of [bytes.subarray(0, -20), damaged]) {
    const file = join(folder, 'damaged.backup')
    writeFileSync(file, content)
    const refused = await posthaste(['restore', file, '--force'], env)
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /^The file is (cut off|damaged|cut off or damaged).*\n$/)
  }
  assert.deepEqual([await digestsOf(connection), await queueOf(connection)], [before, jobs])

  const occupied = await posthaste(['restore', source.file], env)
  assert.match(occupied.stderr, /^The database is not empty: .*--force.*\n$/)
  assert.deepEqual([await digestsOf(connection), await queueOf(connection)], [before, jobs])

  const forced = await posthaste(['restore', source.file, '--force'], env)
  assert.equal(forced.code, 0, forced.stderr)
  assert.deepEqual(await digestsOf(connection), await digestsOf(source.connection))
})

test('another secret key is refused before anything is changed', async () => {
  const { connection, env } = await emptyDatabase()
  const refused = await posthaste(['restore', source.file], { ...env, SECRET_KEY: 'some other key, which is long enough too' })
  assert.match(refused.stderr, /^SECRET_KEY is not the key that this backup was made with\..*\n$/)
  assert.deepEqual(await digestsOf(connection), {})
})

test('the secret key of another installation is not put into this one', async () => {
  const app = await startApp({ ROLES: 'http', SECRET_KEY: 'some other key, which is long enough too' })
  const DATA_DIR = join(folder, 'keyless')
  const refused = await posthaste(['restore', source.file, '--secret-key'], { DATABASE_URL: urlOf(app.connection), DATA_DIR })
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /^The backup is of another installation: its secret key is not the one of .*\.\n$/)
  assert.equal(existsSync(DATA_DIR), false)
  await app.stop()
})

test('a database of somebody else is refused, and nothing is made in it', async () => {
  const { connection, env } = await emptyDatabase()
  await withClient(connection, (client) => client.query('create table accounts (id integer)'))
  const refused = await posthaste(['restore', source.file, '--force'], env)
  assert.match(refused.stderr, /^The database holds tables that Posthaste did not make \(accounts\)\..*\n$/)
  const { rows } = await withClient(connection, (client) => client.query(`select to_regnamespace('jobs') as queue`))
  assert.deepEqual(rows, [{ queue: null }])
})

test('a database that a Posthaste runs on is refused', async () => {
  const app = await startApp({ ROLES: 'http' })
  const refused = await posthaste(['restore', source.file, '--force'], {
    DATABASE_URL: urlOf(app.connection),
    SECRET_KEY,
    DATA_DIR: folder,
  })
  assert.deepEqual([refused.code, refused.stderr], [1, 'A Posthaste is running on this database. Stop it, then restore.\n'])
  await app.stop()
})

test('backup tells what it cannot do', async () => {
  const { env } = await emptyDatabase()
  const [bare, target] = await Promise.all([
    posthaste(['backup', join(folder, 'bare.backup')], env),
    posthaste(['backup', folder], { DATABASE_URL: urlOf(source.connection), SECRET_KEY, DATA_DIR: folder }),
  ])
  assert.match(bare.stderr, /has no Posthaste in it yet\. Run "posthaste migrate" or "posthaste start" first\.\n$/)
  assert.equal(existsSync(join(folder, 'bare.backup.partial')), false)
  assert.match(target.stderr, /is a folder: name a file in it\.\n$/)
})

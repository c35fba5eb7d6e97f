import assert from 'node:assert/strict'
import { createWriteStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { cloneDatabase, withClient } from '../../../tests/support/database.ts'
import { digestsOf } from '../../../tests/support/digest.ts'
import { createEmptyDatabase } from '../../../tests/support/empty-database.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { until } from '../../../tests/support/until.ts'
import { queuedJobs } from '../../jobs/queued-jobs.ts'
import type { ConnectionSettings } from '../database.ts'
import { type Migration, readMigrations, runMigration } from '../migrate.ts'
import { BackupError, createFrames } from './format.ts'
import { verifyBackup } from './read-backup.ts'
import { restoreBackup } from './restore-backup.ts'
import { refuseUnfit } from './target.ts'
import { writeBackup } from './write-backup.ts'

const folder = mkdtempSync(join(tmpdir(), 'posthaste-backup-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const migration = (number: number, name: string, text: string): Migration => ({ number, name, text, checksum: name })
/** Every kind of value that is hard to carry, and a reference to itself and to another table that sorts after it. */
const oddities = migration(
  9001,
  'oddities',
  `create table zz_kinds (id integer primary key);
   create table oddities (
     id bigint generated always as identity primary key, parent_id bigint references oddities, kind_id integer references zz_kinds,
     "Odd ""name""" text, doubled text generated always as ("Odd ""name""" || '!') stored,
     words text[], document jsonb, plain json, bytes bytea, at timestamptz, day date, span interval, fraction double precision, amount numeric, flag boolean);
   create index oddities_document on oddities using gin (document);
   create unlogged table forgotten (id integer)`,
)
const later = migration(9002, 'later', `alter table oddities add column shouted text; update oddities set shouted = upper("Odd ""name""")`)
const known = [...readMigrations(), oddities]

const oddRows = `
  insert into zz_kinds values (1), (2);
  insert into forgotten values (1);
  insert into oddities (parent_id, kind_id, "Odd ""name""", words, document, plain, bytes, at, day, span, fraction, amount, flag)
  select nullif(n - 1, 0), 1 + n % 2, text, array[text, null, '', '{a,"b"}', 'NULL'], jsonb_build_object('text', text, 'none', null, 'list', array[1, 2]),
    '{"a" : 1, "a":2}', decode(string_agg, 'hex'), '2026-02-28 23:59:59.999999+14'::timestamptz + n * interval '1 ms', '-infinity', '1 year 2 days 03:04:05.6', 0.1 + 0.2, 12345678901234567890.123456789, n % 2 = 0
  from unnest(array['plain', 'tab\tand\nnewline\\r', E'\\\\N', E'\\\\.', 'Grüße 😀 \u4f60\u597d \u202e', '', 'quote '' " ;', null]) with ordinality as value (text, n),
    (select string_agg(lpad(to_hex(b), 2, '0'), '') from generate_series(0, 255) b) as every_byte
  order by n`

async function save(connection: ConnectionSettings, name: string): Promise<string> {
  const path = join(folder, name)
  const about = { app_version: '0.0.0', secret_fingerprint: null, secret_key: null }
  await writeBackup({ connection, output: createWriteStream(path), about, jobs: queuedJobs })
  return path
}

interface Loading {
  force?: boolean
  migrations?: Migration[]
  finish?: () => Promise<void>
}

async function load(
  connection: ConnectionSettings,
  path: string,
  { force = false, migrations = known, finish = async () => {} }: Loading = {},
) {
  const { header, trailer } = await verifyBackup(path)
  const { foreign } = await restoreBackup({ connection, path, header, force, migrations, finish })
  return { rows: trailer.rows, foreign }
}

/** A database with people, lists, mail, events and every oddity. */
async function fillSource(): Promise<{ connection: ConnectionSettings; path: string; digests: Record<string, string> }> {
  const source = await cloneDatabase()
  after(source.drop)
  const app = await startApp({}, { connection: source.connection })
  const project = await app.newProject()
  const list = await project.post('/lists', { name: 'Größe & “quotes”\\N', description: 'tab\tnewline\nend\\.' })
  const people = Array.from({ length: 300 }, (_, index) => ({ email: `reader${index}@example.com`, name: `${index}\\t “😀”` }))
  assert.equal((await project.post(`/lists/${list.body.id}/subscribers/import`, { subscribers: people })).status, 201)
  await project.post(`/lists/${list.body.id}/subscribers`, {
    email: 'pending@example.com',
    metadata: { a: [1, null, { b: '\u2028' }] },
    tags: ['x,y', '"'],
  })
  await app.stop()
  await withClient(source.connection, async (client) => {
    await runMigration(client, oddities)
    await client.query(oddRows)
  })
  return {
    connection: source.connection,
    path: await save(source.connection, 'source.backup'),
    digests: await digestsOf(source.connection),
  }
}

const source = await fillSource()
const emptyDatabase = async () => {
  const database = await createEmptyDatabase()
  after(database.drop)
  return database.connection
}

test('every row comes back as it was, into a database with nothing in it', async () => {
  const connection = await emptyDatabase()
  const { rows: saved, foreign } = await load(connection, source.path)
  assert.deepEqual(await digestsOf(connection), source.digests)
  assert.deepEqual([saved.oddities, saved.subscribers, saved.forgotten, saved.rate_windows], [8, 301, undefined, undefined])
  assert.deepEqual(foreign, [])
  await withClient(connection, async (client) => {
    const { rows: ids } = await client.query(`insert into oddities (kind_id) values (1) returning id`)
    assert.deepEqual(ids, [{ id: 9 }])
    await assert.rejects(client.query(`insert into oddities (kind_id) values (3)`), /foreign key/)
    const indexes = (of: ConnectionSettings) =>
      withClient(of, async (other) => (await other.query(`select indexdef from pg_indexes where schemaname = 'public' order by 1`)).rows)
    assert.deepEqual(await indexes(connection), await indexes(source.connection))
  })
})

test('a backup of an earlier release gets the migrations since then, after its rows', async () => {
  const target = await cloneDatabase() // migrated, and empty
  after(target.drop)
  await load(target.connection, source.path, { migrations: [...known, later] })
  await withClient(target.connection, async (client) => {
    const { rows } = await client.query(`select number from schema_migrations where number > 9000 order by 1`)
    assert.deepEqual(rows, [{ number: 9001 }, { number: 9002 }])
    const { rows: shouted } = await client.query('select shouted from oddities order by id limit 1')
    assert.deepEqual(shouted, [{ shouted: 'PLAIN' }])
  })
})

test('a backup of a later release is refused', async () => {
  await assert.rejects(
    load(await emptyDatabase(), source.path, { migrations: readMigrations() }),
    /made by Posthaste 0\.0\.0 \(migration 9001\)/,
  )
})

function isReadAs(changed: Buffer, bytes: Buffer): boolean {
  try {
    return zstdDecompressSync(changed).equals(zstdDecompressSync(bytes))
  } catch {
    return false
  }
}

test('a file that was cut off or changed anywhere is refused', async () => {
  const bytes = readFileSync(source.path)
  const path = join(folder, 'damaged')
  const refused = async (what: string, content: Buffer) => {
    writeFileSync(path, content)
    await assert.rejects(verifyBackup(path), BackupError, what)
  }
  for (const length of [0, 3, 10, 1_000, bytes.length >> 1, bytes.length - 100, bytes.length - 1])
    await refused(`cut to ${length}`, bytes.subarray(0, length))
  for (let at = 0; at < bytes.length; at += Math.floor(bytes.length / 40)) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] as number) ^ 0x10
    // Some bits of zstd mean nothing: about one flip in ten thousand leaves what is read as it was, and is nothing to refuse.
    if (!isReadAs(changed, bytes)) await refused(`changed at ${at}`, changed)
  }
  await refused('something else', Buffer.from('email,name\n'))
})

test('frames that were dropped, swapped or added do not pass either', async () => {
  const frames = createFrames()
  const header = frames.header({
    app_version: '1',
    migration: 1,
    created_at: new Date().toISOString(),
    secret_fingerprint: null,
    secret_key: null,
  })
  const section = frames.section({ kind: 'table', name: 'users', columns: ['id'] })
  const [first, second] = [frames.data(Buffer.from('1\n')), frames.data(Buffer.from('2\n'))]
  const trailer = frames.trailer({ rows: { users: 2 }, sequences: [] })
  const path = join(folder, 'frames')
  const verify = (...parts: Buffer[]) => {
    writeFileSync(path, zstdCompressSync(Buffer.concat(parts)))
    return verifyBackup(path)
  }
  assert.deepEqual((await verify(header, section, first, second, trailer)).trailer.rows, { users: 2 })
  await assert.rejects(verify(header, section, first, trailer), /damaged/)
  await assert.rejects(verify(header, section, second, first, trailer), /damaged/)
  await assert.rejects(verify(header, section, first, second), /cut off/)
  await assert.rejects(verify(section, first, second, trailer), /damaged/)
  await assert.rejects(verify(header, section, first, second, trailer, trailer), /damaged/)
  await assert.rejects(verify(header, section, first, second, trailer, first.subarray(0, 3)), /cut off/)
})

test('a database with rows is left alone, but for --force', async () => {
  const target = await cloneDatabase()
  after(target.drop)
  await withClient(target.connection, (client) =>
    client.query(`insert into users (id, kind, email) values (gen_random_uuid(), 'human', 'here@example.com')`),
  )
  const before = await digestsOf(target.connection)
  await assert.rejects(load(target.connection, source.path), /not empty: there are rows in "users".*--force/)
  assert.deepEqual(await digestsOf(target.connection), before)

  await assert.rejects(
    load(target.connection, source.path, { force: true, finish: () => Promise.reject(new Error('at the last moment')) }),
    /at the last moment/,
  )
  assert.deepEqual(await digestsOf(target.connection), before, 'what failed has changed nothing')

  await load(target.connection, source.path, { force: true })
  assert.deepEqual(await digestsOf(target.connection), source.digests)
})

test('rows that the database refuses undo the whole', async () => {
  const connection = await emptyDatabase()
  const frames = createFrames()
  const about = { app_version: '1', migration: 1, created_at: new Date().toISOString(), secret_fingerprint: null, secret_key: null }
  const id = '01890a5d-ac96-774b-bcce-b302099a8057'
  const users = (rows: string) => [
    frames.header(about),
    frames.section({ kind: 'table', name: 'users', columns: ['id', 'kind'] }),
    frames.data(Buffer.from(rows)),
    frames.trailer({ rows: { users: 3 }, sequences: [] }),
  ]
  const path = join(folder, 'refused')
  writeFileSync(path, zstdCompressSync(Buffer.concat(users(`${id}\thuman\n${id}\trobot\n`))))
  await assert.rejects(load(connection, path, { migrations: readMigrations() }), /users_kind_check/)
  assert.deepEqual(await digestsOf(connection), {})
})

test('tables that are not ours are never removed, and not made', async () => {
  const connection = await emptyDatabase()
  await withClient(connection, (client) => client.query('create table accounts (id integer)'))
  await assert.rejects(load(connection, source.path, { force: true }), /did not make \(accounts\)\. Restore into a database of its own/)
  await withClient(connection, (client) => client.query('select * from accounts'))

  const shared = await cloneDatabase()
  after(shared.drop)
  await withClient(shared.connection, (client) => client.query('create table accounts (id serial); insert into accounts default values'))
  const target = await emptyDatabase()
  const { rows, foreign } = await load(target, await save(shared.connection, 'shared.backup'))
  assert.deepEqual([rows.accounts, foreign], [1, ['accounts']])
  assert.equal(Object.hasOwn(await digestsOf(target), 'accounts'), false)
})

test('every table of the newest schema is known to be ours', async () => {
  const target = await cloneDatabase()
  after(target.drop)
  await withClient(target.connection, (client) => refuseUnfit(client, readMigrations(), false))
})

test('a backup sees one moment, and holds up neither writers nor the consumers of events', async () => {
  const target = await cloneDatabase()
  after(target.drop)
  const output = new PassThrough({ highWaterMark: 1 })
  const about = { app_version: '0.0.0', secret_fingerprint: null, secret_key: null }
  await withClient(target.connection, async (client) => {
    const add = async (email: string): Promise<string> => {
      const text = `insert into users (id, kind, email) values (gen_random_uuid(), 'human', $1) returning pg_current_xact_id()::text as id`
      return (await client.query<{ id: string }>(text, [email])).rows[0]?.id ?? ''
    }
    await add('before@example.com')
    // Nobody reads yet, so the backup opens its snapshot and then stands still.
    const saving = writeBackup({ connection: target.connection, output, about, jobs: queuedJobs })
    const open = `select from pg_stat_activity where application_name = 'posthaste backup' and datname = current_database() and backend_xmin is not null`
    await until('the snapshot is open', async () => (await client.query(open)).rowCount === 1)
    const transaction = await add('after@example.com')
    const passed = `select $1::xid8 < pg_snapshot_xmin(pg_current_snapshot()) as is_passed`
    await until('consumers may pass it', async () => (await client.query(passed, [transaction])).rows[0].is_passed)
    const path = join(folder, 'moment.backup')
    writeFileSync(path, await buffer(output))
    assert.equal((await saving).rows.users, 1)
    assert.equal((await verifyBackup(path)).trailer.rows.users, 1)
  })
})

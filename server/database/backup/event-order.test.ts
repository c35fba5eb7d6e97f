import assert from 'node:assert/strict'
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { cloneDatabase, withClient } from '../../../tests/support/database.ts'
import { createEmptyDatabase } from '../../../tests/support/empty-database.ts'
import { until } from '../../../tests/support/until.ts'
import { systemClock } from '../../base/clock.ts'
import { createLog } from '../../base/log.ts'
import { type Consumer, consumeBatch } from '../../events/consume.ts'
import { queuedJobs } from '../../jobs/queued-jobs.ts'
import { type ConnectionSettings, openDatabase } from '../database.ts'
import { verifyBackup } from './read-backup.ts'
import { restoreBackup } from './restore-backup.ts'
import { writeBackup } from './write-backup.ts'

const folder = mkdtempSync(join(tmpdir(), 'posthaste-events-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const insertEvent = (client: Client, word: string) =>
  client.query(
    `insert into events (project_id, id, type, data, created_at) values (gen_random_uuid(), gen_random_uuid(), 'list.created', jsonb_build_object('word', $1::text), now())`,
    [word],
  )

/** first … fourth are their true order, which is not the order of their positions: the second and third transactions overlapped. */
async function publishOutOfOrder(connection: ConnectionSettings): Promise<void> {
  const [early, late] = [new Client(connection), new Client(connection)]
  await Promise.all([early.connect(), late.connect()])
  await insertEvent(early, 'first')
  await early.query('begin')
  await early.query('select pg_current_xact_id()')
  await insertEvent(late, 'third')
  await insertEvent(early, 'second')
  await early.query('commit')
  await insertEvent(late, 'fourth')
  await Promise.all([early.end(), late.end()])
}

const placeCursor = (client: Client, name: string, lastSeen: string | null) =>
  client.query(
    `insert into event_consumers (name, transaction_id, position)
     select $1, coalesce(max(transaction_id), '0'), coalesce(max(position), 0) from events where data->>'word' = $2`,
    [name, lastSeen],
  )

/** As they come from a server that has seen far more transactions than this one. */
const moveIntoTheFuture = async (client: Client) => {
  for (const table of ['events', 'event_consumers'])
    await client.query(
      `update ${table} set transaction_id = (transaction_id::text::bigint + 1000000000000)::text::xid8 where transaction_id > '0'`,
    )
}

async function saveAndRestore(from: ConnectionSettings, to: ConnectionSettings): Promise<void> {
  const path = join(folder, 'events.backup')
  const about = { app_version: '0.0.0', secret_fingerprint: null, secret_key: null }
  await writeBackup({ connection: from, output: createWriteStream(path), about, jobs: queuedJobs })
  const { header } = await verifyBackup(path)
  await restoreBackup({ connection: to, path, header, force: false, finish: async () => {} })
}

test('after a restore each consumer goes on where it was: nothing twice, nothing left out, and then what is new', async () => {
  const [source, target] = [await cloneDatabase(), await createEmptyDatabase()]
  after(source.drop)
  after(target.drop)
  await publishOutOfOrder(source.connection)
  await withClient(source.connection, async (client) => {
    const { rows } = await client.query(`select data->>'word' as word from events order by position`)
    assert.deepEqual(
      rows.map((row) => row.word),
      ['first', 'third', 'second', 'fourth'],
    )
    await placeCursor(client, 'new', null)
    for (const word of ['first', 'second', 'third', 'fourth']) await placeCursor(client, word, word)
    await moveIntoTheFuture(client)
  })
  await saveAndRestore(source.connection, target.connection)

  const database = openDatabase({ connection: target.connection, clock: systemClock, log: createLog('silent') })
  after(database.close)
  const seen: Record<string, string[]> = { new: [], first: [], second: [], third: [], fourth: [] }
  const consumers = Object.keys(seen).map(
    (name): Consumer => ({
      name,
      types: ['list.created'],
      handle: async (_tx, events) => {
        seen[name]?.push(...events.map((event) => String(event.data?.word)))
        return true
      },
    }),
  )
  const consumeAll = async () => {
    for (const consumer of consumers) while ((await consumeBatch(database, consumer)).rows > 0);
  }
  await consumeAll()
  assert.deepEqual(seen, {
    new: ['first', 'second', 'third', 'fourth'],
    first: ['second', 'third', 'fourth'],
    second: ['third', 'fourth'],
    third: ['fourth'],
    fourth: [],
  })

  await withClient(target.connection, (client) => insertEvent(client, 'fifth'))
  await until('all have seen the new event', async () => {
    await consumeAll()
    return Object.values(seen).every((words) => words.at(-1) === 'fifth')
  })
  for (const words of Object.values(seen)) assert.equal(new Set(words).size, words.length)
})

test('no events at all, and cursors past events that were cleared away, restore as well', async () => {
  const [source, target] = [await cloneDatabase(), await createEmptyDatabase()]
  after(source.drop)
  after(target.drop)
  await publishOutOfOrder(source.connection)
  await withClient(source.connection, async (client) => {
    await placeCursor(client, 'caught up', 'fourth')
    await moveIntoTheFuture(client)
    await client.query('delete from events')
  })
  await saveAndRestore(source.connection, target.connection)
  await withClient(target.connection, async (client) => {
    const { rows } = await client.query('select name, transaction_id::text, position from event_consumers order by name')
    assert.deepEqual(rows, [
      { name: 'caught up', transaction_id: '3', position: 0 },
      // A migration places this one: it comes from the backup, and once.
      { name: 'webhooks', transaction_id: '3', position: 0 },
    ])
    await insertEvent(client, 'fifth')
    assert.deepEqual((await client.query('select position from events')).rows, [{ position: 5 }])
  })
})

test('no other column holds what belongs to a server: whoever adds one must carry it over a restore', async () => {
  const database = await cloneDatabase()
  after(database.drop)
  const { rows } = await withClient(database.connection, (client) =>
    client.query(`
      select c.relname || '.' || a.attname as name from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and c.relpersistence = 'p' and a.attnum > 0 and not a.attisdropped
        and format_type(a.atttypid, null) in ('xid8', 'xid', 'cid', 'tid', 'oid', 'pg_lsn', 'pg_snapshot', 'txid_snapshot') order by 1`),
  )
  assert.deepEqual(
    rows.map((row) => row.name),
    ['event_consumers.transaction_id', 'events.transaction_id'],
  )
})

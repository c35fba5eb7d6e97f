import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'
import { until } from '../../tests/support/until.ts'
import { type CopiedRow, copyTarget } from './copy-rows.ts'
import { isConnectionLoss } from './database.ts'

const { database } = (await startApp({ ROLES: 'http' })).services
await database.run`
  create table copied (number integer, a uuid, b text, c text[], d bytea, e json, f jsonb, g smallint, h integer, i bigint, j boolean, k timestamptz,
    made_at timestamptz not null default now())`

const target = copyTarget('copied', {
  number: 'integer',
  ...{ a: 'uuid', b: 'text', c: 'text[]', d: 'bytea', e: 'json', f: 'jsonb', g: 'smallint', h: 'integer', i: 'bigint', j: 'boolean' },
  k: 'timestamptz',
})
type Row = CopiedRow<typeof target.columns>
const nothing: Row = { number: 0, a: null, b: null, c: null, d: null, e: null, f: null, g: null, h: null, i: null, j: null, k: null }
const stored = () => database.many<Row>`
  delete from copied returning number, a, b, c, d, e, f, g, h, i, j, k`
const sorted = (rows: Row[]) => rows.toSorted((one, other) => Number(one.number) - Number(other.number))

test('what is copied is read again as it was, whatever is in it', async () => {
  const rows: Row[] = [
    nothing,
    {
      number: 1,
      a: '0193c5a8-1b2c-7def-8abc-0123456789ab',
      b: 'Grüße „🎉“ \t\\N\r\n',
      c: ['', 'a,b', '{"x"}', 'é', 'NULL'],
      d: Buffer.from([0, 255, 10, 92]),
      e: { a: ['ü', null, 1.5, '\\'], b: '"' },
      f: [{ deep: { er: true } }],
      g: -32_768,
      h: 2_147_483_647,
      i: Number.MAX_SAFE_INTEGER,
      j: true,
      k: new Date('2026-11-16T13:25:40.123Z'),
    },
    {
      ...{ number: 2, a: 'ffffffff-ffff-ffff-ffff-ffffffffffff', b: '', c: [], d: Buffer.alloc(0), e: 'text', f: 0, g: 0, h: -1 },
      ...{ i: -Number.MAX_SAFE_INTEGER, j: false, k: new Date('1969-12-31T23:59:59.999Z') },
    },
  ]
  assert.equal(await database.copy(target, rows), 3)
  assert.deepEqual(sorted(await stored()), rows)
  assert.equal(await database.copy(target, []), 0)
})

test('letters may be bytes already, and what is larger than all before it fits, as does what comes after', async () => {
  for (const letters of [10, 1_000_000, 6_000_000, 10]) {
    const long = 'ü'.repeat(letters)
    await database.copy(target, [{ ...nothing, b: long, d: Buffer.from(long) }])
    await database.copy(target, [{ ...nothing, number: 1, b: Buffer.from(long) }])
    const [first, second] = sorted(await stored())
    assert.ok(first?.b === long && Buffer.from(long).equals(first.d as Buffer))
    assert.ok(second?.b === long)
  }
})

test('a half of a pair of letters is stored as a sign for it, and what PostgreSQL cannot hold is refused with all the rest', async () => {
  await database.copy(target, [{ ...nothing, b: '\ud83d!' }])
  assert.deepEqual(
    (await stored()).map(({ b }) => b),
    ['\ufffd!'],
  )
  const byUs: Partial<Row>[] = [
    { i: 2 ** 60 },
    { k: new Date(Number.NaN) },
    { a: '12' },
    { a: `${'0'.repeat(32)}-00` },
    { h: 1.5 },
    { g: 2 ** 15 },
  ]
  const byPostgres: Partial<Row>[] = [{ b: 'a\0b' }, { f: { a: '\0' } }]
  for (const wrong of [...byUs, ...byPostgres]) {
    const copying = database.copy(target, [nothing, { ...nothing, ...wrong }])
    await assert.rejects(copying, (error) => !isConnectionLoss(error), JSON.stringify(wrong))
    assert.deepEqual(await stored(), [])
  }
  await database.transaction(async (tx) => {
    for (const wrong of byUs) await assert.rejects(tx.copy(target, [{ ...nothing, ...wrong }]))
    assert.equal(await tx.copy(target, [nothing]), 1, 'nothing of it was sent')
  })
  assert.equal((await stored()).length, 1)
})

test('a question that is refused leaves the rows behind it unread, and the connection as it was', async () => {
  const missing = copyTarget('no_such_table', { a: 'bytea' })
  await database.transaction(async (tx) => {
    await tx.run`savepoint before`
    await assert.rejects(tx.copy(missing, [{ a: Buffer.alloc(1_000_000) }]), { code: '42P01' })
    await assert.rejects(tx.copy(target, [nothing]), { code: '25P02' })
    await tx.run`rollback to savepoint before`
    assert.equal(await tx.copy(target, [nothing]), 1)
  })
  assert.equal((await stored()).length, 1)
})

test('in a transaction it is taken back with the rest, and many at once get each their own', async () => {
  const failing = database.transaction(async (tx) => {
    await tx.copy(target, [nothing])
    throw new Error('no')
  })
  await assert.rejects(failing, /^Error: no$/)
  assert.deepEqual(await stored(), [])
  const numbers = Array.from({ length: 40 }, (_, number) => number)
  await Promise.all(numbers.map((number) => database.copy(target, [{ ...nothing, number, b: `${number}`.repeat(1 + number * 500) }])))
  const rows = sorted(await stored())
  assert.deepEqual(
    rows.map(({ number }) => number),
    numbers,
  )
  for (const { number, b } of rows) assert.equal(b, `${number}`.repeat(1 + Number(number) * 500))
})

test('a connection that is lost while the rows wait is told as such, and nothing of them is there', async () => {
  await database.transaction(async (holder) => {
    await holder.run`lock table copied in exclusive mode`
    const copying = database.copy(target, [nothing]).then(
      () => null,
      (error: unknown) => error,
    )
    const waiting = () =>
      database.many<{
        pid: number
      }>`select pid from pg_stat_activity where datname = current_database() and query like 'copy copied%' and wait_event_type = 'Lock'`
    await until('it waits', async () => (await waiting()).length === 1)
    await database.run`select pg_terminate_backend(${(await waiting())[0]?.pid})`
    assert.ok(isConnectionLoss(await copying))
  })
  assert.deepEqual(await stored(), [])
  assert.equal(await database.copy(target, [nothing]), 1)
  await stored()
})

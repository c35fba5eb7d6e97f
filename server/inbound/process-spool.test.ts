import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSpools } from '../../tests/support/spool.ts'
import { until } from '../../tests/support/until.ts'
import { BlobStoreError } from '../blobs/blob-store.ts'
import { bodiesOf } from '../mail/inbound/packed-mail.ts'
import type { FiledInput } from './inbound-message.ts'
import type { ParsePool } from './parse-pool.ts'

const { pool, startSpool } = await startSpools()

/** The same pool, and how many it has read, and beside how many others something was read. */
function countedPool() {
  const underWay = new Set<string>()
  const beside = new Map<string, number>()
  let done = 0
  const read: ParsePool['read'] = async (message, options) => {
    const [, subject = ''] = /^Subject: (.*)$/m.exec(message.raw.toString('latin1')) ?? []
    for (const other of underWay) beside.set(other, Math.max(beside.get(other) ?? 0, underWay.size))
    beside.set(subject.trim(), underWay.size)
    underWay.add(subject.trim())
    try {
      return await pool.read(message, options)
    } finally {
      underWay.delete(subject.trim())
      done++
    }
  }
  const { whenIdle, stop } = pool
  return {
    pool: { read, whenIdle: whenIdle.bind(pool), stop: stop.bind(pool) },
    read: () => done,
    beside: (subject: string) => beside.get(subject),
  }
}

test('what is in the spool is read, judged and filed, and what comes later is too', async () => {
  const { filed, start, add, rows, clock } = await startSpool()
  await add('before')
  start()
  await until('filed', () => filed.flat().includes('before'))
  await Promise.all(Array.from({ length: 30 }, (_, number) => add(`later ${number}`)))
  await until('all filed', () => filed.flat().length === 31)
  assert.equal(new Set(filed.flat()).size, 31)
  assert.deepEqual(await rows(), [])
  assert.ok(clock.now() > new Date(0))
})

test('while much is in hand, a batch waits for company; the bytes of what is filed are given back', async () => {
  const { filed, start, add, file } = await startSpool()
  const gates = new Map(['first', 'second', 'third', ...'456789'].map((subject) => [subject, Promise.withResolvers<void>()]))
  const open = (subject: string) => gates.get(subject)?.resolve()
  const read: ParsePool['read'] = async (message, options) => {
    const mail = await pool.read(message, options)
    await gates.get(mail.parsed.subject as string)?.promise
    return mail
  }
  const kept: FiledInput[] = []
  await Promise.all([...gates.keys()].map((subject) => add(subject)))
  start(
    async (batch) => {
      kept.push(...batch)
      open('second')
      await file(batch)
      // When whoever does not wait for it has filed the second by itself, and before any timer goes off.
      setImmediate(() => open('third'))
    },
    { ...countedPool().pool, read },
  )
  open('first')
  await until('three are filed', () => filed.flat().length === 3)
  assert.deepEqual(filed.slice(0, 2), [['first'], ['second', 'third']])
  for (const subject of '456789') open(subject)
  await until('all are filed', () => filed.flat().length === 9)
  await until('their bytes are gone', () => kept.every(({ parsed }) => parsed.bodies?.byteLength === 0))
})

test('a batch that fails is halved until the one at fault is alone, which is kept and tried again later', async () => {
  const { filed, start, add, rows, file, clock } = await startSpool()
  await Promise.all(Array.from({ length: 100 }, (_, number) => add(number === 70 ? 'bad' : `good ${number}`)))
  let isMended = false
  let calls = 0
  const counted = countedPool()
  const isBad = ({ message }: FiledInput) => message.raw.includes('Subject: bad')
  start(async (batch) => {
    if (calls++ === 0) await until('all are read', () => counted.read() === 100)
    if (batch.some(isBad) && !isMended) throw new Error('not this one')
    await file(batch)
  }, counted.pool)
  await until('the others are filed', () => filed.flat().length === 99)
  assert.ok(calls < 25, `${calls} filings`)
  const kept = await until('it is put back', async () => (await rows()).find(({ problem }) => problem !== null))
  assert.deepEqual([kept.attempts, kept.problem], [1, 'not this one'])
  assert.ok(kept.next_attempt_at > clock.now())

  for (const attempts of [2, 3, 4, 5, 6]) {
    clock.advance(25 * 3_600_000)
    await until(`attempt ${attempts}`, async () => (await rows()).some((row) => row.attempts === attempts && row.lease_owner === null))
  }
  const [last] = await rows()
  assert.ok((last?.next_attempt_at.getTime() as number) > clock.now().getTime() + 23 * 3_600_000, 'once a day from the fifth on')

  isMended = true
  clock.advance(25 * 3_600_000)
  await until('filed after all', () => filed.flat().includes('bad'))
  assert.deepEqual(await rows(), [])
})

test('what fails a second time is filed by its head, and what fails even then without a word of its own', async () => {
  const { start, add, rows, file, clock } = await startSpool()
  await Promise.all(['text', 'head'].map((subject) => add(subject)))
  const seen: FiledInput[] = []
  start(async (batch) => {
    if (batch.some(({ parsed }) => parsed.problem === null || parsed.subject === 'head')) throw new Error('a poison')
    await file(batch)
    seen.push(...batch)
  })
  const areKept = async () => (await rows()).every(({ attempts, lease_owner }) => attempts === 1 && lease_owner === null)
  await until('both failed once', areKept)
  assert.equal(seen.length, 0)
  clock.advance(11_000)
  await until('both are filed', () => seen.length === 2)
  const shown = seen.map(({ message, parsed, verdicts }) => [
    parsed.subject,
    parsed.from?.address,
    parsed.calendars,
    bodiesOf(parsed, message.raw).html_body,
    verdicts.dmarc.result,
  ])
  assert.deepEqual(
    shown.sort(),
    [
      ['text', 'ann@example.org', [], null, 'permerror'],
      [null, undefined, [], null, 'permerror'],
    ].sort(),
  )
  assert.match(
    bodiesOf((seen[0] as FiledInput).parsed, (seen[0] as FiledInput).message.raw).text_body ?? '',
    /could not be filed as it is.*original message is kept/,
  )
  assert.deepEqual(await rows(), [])
})

test('a store that is full is waited for, said once, and counts for nothing', async () => {
  const { filed, start, add, rows, file } = await startSpool()
  let isFull = true
  await Promise.all(['one', 'two'].map((subject) => add(subject)))
  const full = async (batch: FiledInput[]) => {
    if (isFull) throw new BlobStoreError('ENOSPC: no space left on device')
    await file(batch)
  }
  const loop = start(full)
  await until('the reason is noted', async () => (await rows()).some(({ problem }) => problem === 'ENOSPC: no space left on device'))
  await loop.stop()
  assert.deepEqual(
    (await rows()).map(({ attempts, lease_owner }) => [attempts, lease_owner]),
    [
      [0, null],
      [0, null],
    ],
  )
  start(full)
  await until('both are tried again', async () => (await rows()).every(({ attempts }) => attempts === 1))
  isFull = false
  await until('filed', () => filed.flat().length === 2)
})

test('a message that the pool gives back is tried again', async () => {
  const { filed, start, add, rows, file, clock } = await startSpool()
  let failures = 1
  const failing: ParsePool = {
    ...countedPool().pool,
    read: (message, options) => (failures-- > 0 ? Promise.reject(new Error('no thread')) : pool.read(message, options)),
  }
  await add('given back by the pool')
  start(file, failing)
  const kept = await until('it is kept', async () => (await rows()).find(({ problem }) => problem !== null))
  assert.deepEqual([kept.attempts, kept.problem], [1, 'no thread'])
  clock.advance(11_000)
  await until('filed', () => filed.flat().length === 1)
})

test('what may have ended the process is taken up alone, at last by its head, and holds up the others no longer than that', async () => {
  const { filed, start, add, database, file } = await startSpool()
  await Promise.all(['suspect 2', 'suspect 3'].map((subject) => add(subject)))
  await database.run`update inbound_spool set attempts = case when position('suspect 2'::bytea in raw) > 0 then 2 else 3 end`
  await Promise.all(Array.from({ length: 20 }, (_, number) => add(`other ${number}`)))
  const counted = countedPool()
  const problems = new Map<string | null, string | null>()
  start(async (batch) => {
    for (const { parsed } of batch) problems.set(parsed.subject, parsed.problem)
    await file(batch)
  }, counted.pool)
  await until('all are filed', () => filed.flat().length === 22)
  assert.deepEqual([counted.beside('suspect 2'), counted.beside('suspect 3')], [0, 0])
  assert.equal(problems.get('suspect 2'), null)
  assert.match(problems.get('suspect 3') ?? '', /could not be read/)
  assert.equal([...problems.values()].filter((problem) => problem !== null).length, 1)
})

test('a database that is away for a moment is waited for, and counts for nothing', async () => {
  const { filed, start, add, file } = await startSpool()
  let failures = 2
  await add('patient')
  start(async (batch) => {
    if (failures-- > 0) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    await file(batch)
  })
  await until('filed', () => filed.flat().includes('patient'))
})

test('a sender whose name server is silent holds up nobody else', async () => {
  const { filed, start, add } = await startSpool()
  await add('slow', { from: 'ann@slow.test' })
  start()
  await Promise.all(Array.from({ length: 10 }, (_, number) => add(`quick ${number}`)))
  await until('the slow one is filed as well', () => filed.flat().includes('slow'), { withinMs: 30_000 })
  assert.equal(filed.flat().at(-1), 'slow')
  assert.equal(filed.flat().length, 11)
})

test('of two processes each message goes to one, and what one that died has held passes to the other', async () => {
  const { filed, start, add, rows, clock, database } = await startSpool()
  await add('left behind')
  // As a process leaves it that was killed in the middle.
  await database.run`update inbound_spool set lease_owner = gen_random_uuid(), attempts = 1, next_attempt_at = ${new Date(clock.now().getTime() + 30_000)}`
  start()
  start()
  await Promise.all(Array.from({ length: 100 }, (_, number) => add(`shared ${number}`)))
  await until('all but one are filed', () => filed.flat().length === 100)
  assert.equal((await rows()).length, 1)
  clock.advance(31_000)
  await until('that one, too', () => filed.flat().includes('left behind'))
  assert.equal(new Set(filed.flat()).size, 101)
})

test('a stop finishes what is being filed and gives back the rest, uncounted', async () => {
  const { start, add, rows, clock } = await startSpool()
  await add('given back', { from: 'ann@held.test' })
  const loop = start(async () => {})
  await until('it is claimed', async () => (await rows())[0]?.lease_owner)
  await loop.stop()
  const [row] = await rows()
  assert.deepEqual([row?.attempts, row?.lease_owner], [0, null])
  assert.ok((row?.next_attempt_at as Date) <= clock.now())
})

test('large messages are taken a few at a time', async () => {
  const { filed, start, add } = await startSpool()
  for (let number = 0; number < 6; number++) await add(`large ${number}`, { size: 20 * 1024 * 1024 })
  const seen: number[] = []
  start(async (batch) => {
    seen.push(batch.reduce((sum, { message }) => sum + message.raw.length, 0))
    filed.push(batch.map(({ parsed }) => parsed.subject as string))
  })
  await until('the first are there', () => filed.flat().length >= 3, { withinMs: 60_000 })
  assert.ok(Math.max(...seen) <= 80 * 1024 * 1024, String(seen))
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { enrol, listener, openEventLog, tellIn } from '../../tests/support/event-log.ts'
import { until } from '../../tests/support/until.ts'
import { type Consumer, consumeBatch, startConsumers } from './consume.ts'
import { publish, publishBulk } from './publish.ts'

/** Every test has a log of its own: a cursor begins at the very first event. */
async function openLog(t: { after(stop: () => Promise<void>): void }) {
  const eventLog = await openEventLog()
  const stops: (() => Promise<unknown>)[] = []
  const start = async (...consumers: Consumer[]) => {
    const loops = await startConsumers(eventLog.database, eventLog.log, consumers)
    const stop = () => Promise.all(loops.map((loop) => loop.stop()))
    stops.push(stop)
    return stop
  }
  t.after(async () => {
    for (const stop of stops) await stop()
    await eventLog.close()
  })
  /** Batches until so many are heard. Open transactions of other databases on the server hold the log up, too: a test file beside us. */
  const catchUp = (consumer: ReturnType<typeof listener>, count: number) =>
    until(`${count} events are heard`, async () => {
      while ((await consumeBatch(eventLog.database, consumer)).rows > 0) {}
      return consumer.heard.length >= count
    })
  const cursorOf = ({ name }: Consumer) =>
    eventLog.database.first<{
      transaction_id: string
      position: number
    }>`select transaction_id::text, position from event_consumers where name = ${name}`
  return { ...eventLog, start, catchUp, cursorOf }
}

test('a transaction that began first and commits last is not skipped', async (t) => {
  const { database, project_id, tell, catchUp, openTransaction } = await openLog(t)
  const consumer = listener('safe')
  await enrol(database, consumer)
  await tell('before')
  const a = await openTransaction((tx) => tellIn(tx, project_id, 'a1'))
  await tell('b')
  await tell('c')
  await catchUp(consumer, 1)
  await consumeBatch(database, consumer)
  assert.deepEqual(consumer.heard, ['before'], 'nothing from above the open transaction')
  await a.commit()
  await catchUp(consumer, 4)
  await consumeBatch(database, consumer)
  assert.deepEqual(consumer.heard, ['before', 'a1', 'b', 'c'])
})

test('an event written late in a transaction that began before others is not skipped either', async (t) => {
  const { database, project_id, tell, catchUp } = await openLog(t)
  const consumer = listener('late')
  await enrol(database, consumer)
  const go = Promise.withResolvers<void>()
  // It has its number early, and its event only after another has committed and been read.
  const writing = database.transaction(async (tx) => {
    await tx.run`select pg_current_xact_id()`
    await go.promise
    await tellIn(tx, project_id, 'a')
  })
  await tell('b')
  await consumeBatch(database, consumer)
  go.resolve()
  await writing
  await catchUp(consumer, 2)
  assert.deepEqual(consumer.heard.toSorted(), ['a', 'b'])
})

test('one that is rolled back holds nothing up', async (t) => {
  const { database, project_id, tell, catchUp, openTransaction } = await openLog(t)
  const consumer = listener('rolled-back')
  await enrol(database, consumer)
  const a = await openTransaction((tx) => tellIn(tx, project_id, 'a'))
  await tell('b')
  await a.rollBack()
  await catchUp(consumer, 1)
  assert.deepEqual(consumer.heard, ['b'])
})

test('four hundred transactions of twenty writers reach two loops of one consumer once each, in the order of their numbers', async (t) => {
  const { database, project_id, start } = await openLog(t)
  const consumer = listener('two-loops', () => sleep(1))
  const stops = [await start(consumer), await start(consumer)]
  const expected: string[] = []
  await Promise.all(
    Array.from({ length: 20 }, async (_, writer) => {
      for (let index = 0; index < 20; index++) {
        const names = [`${writer}-${index}-x`, `${writer}-${index}-y`]
        expected.push(...names)
        await database.transaction(async (tx) => {
          for (const name of names) await tellIn(tx, project_id, name)
        })
      }
    }),
  )
  await until('all are heard', () => consumer.heard.length >= expected.length)
  for (const stop of stops) await stop()
  assert.deepEqual(consumer.heard.toSorted(), expected.toSorted())
  const rows = await database.many<{ name: string }>`
    select data ->> 'name' as name from events where project_id = ${project_id} order by transaction_id, position`
  assert.deepEqual(
    consumer.heard,
    rows.map((row) => row.name),
  )
})

test('a handler that throws leaves the cursor and what it wrote, and is tried again', async (t) => {
  const { database, tell, start, cursorOf } = await openLog(t)
  await database.run`create table handled (name text)`
  let failures = 0
  const consumer: Consumer = {
    name: 'throws',
    types: ['contact_group.created'],
    async handle(tx, rows) {
      for (const row of rows) await tx.run`insert into handled values (${String(row.data?.name)})`
      if (++failures < 3) throw new Error('not yet')
      return true
    },
  }
  await enrol(database, consumer)
  const before = await cursorOf(consumer)
  await tell('once')
  const firstTry = () =>
    consumeBatch(database, consumer).then(
      () => false,
      (error: Error) => error.message,
    )
  assert.equal(await until('the first try fails', firstTry), 'not yet')
  assert.deepEqual(await cursorOf(consumer), before)
  assert.deepEqual(await database.many`select * from handled`, [])
  const stop = await start(consumer)
  await until('the third try succeeds', async () => (await database.many`select * from handled`).length > 0)
  await stop()
  assert.equal(failures, 3)
  assert.equal((await database.many`select * from handled`).length, 1)
  assert.notDeepEqual(await cursorOf(consumer), before)
})

test('a consumer that fails holds up none of the others', async (t) => {
  const { tell, start } = await openLog(t)
  const [good, bad] = [listener('good'), listener('bad', () => Promise.reject(new Error('always')))]
  const stop = await start(bad, good)
  await tell('heard')
  await until('the good one hears', () => good.heard.includes('heard'))
  await stop()
  assert.deepEqual(bad.heard, [])
})

test('events of other types pass by, and the cursor with them', async (t) => {
  const { database, project_id, tell, catchUp, cursorOf } = await openLog(t)
  const consumer = listener('choosy')
  await enrol(database, consumer)
  await tell('first')
  await database.transaction((tx) => publish(tx, project_id, 'project.deleted', { project_id }))
  await catchUp(consumer, 1)
  const last = await database.first`select transaction_id::text, position from events order by transaction_id desc, position desc limit 1`
  await until('the cursor is at the end', async () => {
    await consumeBatch(database, consumer)
    return isDeepStrictEqual(await cursorOf(consumer), last)
  })
  assert.deepEqual(consumer.heard, ['first'])
})

test('thousands of rows and bulks larger than a batch come whole, batch by batch', async (t) => {
  const { database, project_id, catchUp } = await openLog(t)
  const sizes: number[] = []
  const consumer = listener('many', (names) => void sizes.push(names.length))
  await enrol(database, consumer)
  const expected: string[] = []
  await database.transaction(async (tx) => {
    for (const size of [3_000, 7_000, 1, 4_999, 1]) {
      const names = Array.from({ length: size }, (_, index) => `${expected.length + index}`)
      expected.push(...names)
      await publishBulk(tx, project_id, 'contact_group.created', { template: { name: '$0' }, rows: names.map((name) => [name]) })
    }
    for (let index = 0; index < 1_200; index++) {
      expected.push(`single ${index}`)
      await tellIn(tx, project_id, `single ${index}`)
    }
  })
  await catchUp(consumer, expected.length)
  assert.deepEqual(consumer.heard, expected)
  assert.ok(Math.max(...sizes) <= 10_000 + 5_000, `a batch of ${Math.max(...sizes)} events`)
})

test('an event is heard within a moment of its commit, again and again', async (t) => {
  const { tell, start } = await openLog(t)
  const consumer = listener('latency')
  const stop = await start(consumer)
  await tell('warm')
  await until('the first', () => consumer.heard.length === 1)
  const waits: number[] = []
  for (let index = 0; index < 20; index++) {
    const began = performance.now()
    await tell(`e${index}`)
    await until('it is heard', () => consumer.heard.includes(`e${index}`), { everyMs: 1 })
    waits.push(performance.now() - began)
  }
  await stop()
  // Roused by the commit, not found by polling, which comes twice a second.
  assert.ok((waits.toSorted((x, y) => x - y)[10] ?? 0) < 250, waits.map(Math.round).join(' '))
})

test('a process that was not roused finds out by itself within a second', async (t) => {
  const { database, project_id, start } = await openLog(t)
  const consumer = listener('polling')
  const stop = await start(consumer)
  // As another process would write it: no wake reaches us.
  await database.run`
    insert into events (project_id, id, type, data, created_at)
    values (${project_id}, gen_random_uuid(), 'contact_group.created', '{"name":"from afar"}', now())`
  await until('it is heard', () => consumer.heard.includes('from afar'), { withinMs: 1_500 })
  await stop()
})

test('what nobody is roused for and concerns nobody is looked at twice a second, also after a wake; what concerns somebody is followed', async (t) => {
  const { database, project_id, tell, start } = await openLog(t)
  const about = { looks: 0, isOfInterest: false }
  const consumer: Consumer = {
    name: 'indifferent',
    types: ['contact_group.created'],
    handle: async () => {
      about.looks++
      return about.isOfInterest
    },
  }
  await start(consumer)
  // As in `publishUnheard`, and as another process would write it: one event after the other, and no wake.
  let isOver = false
  const flow = async () => {
    while (!isOver) {
      await database.run`
        insert into events (project_id, id, type, data, created_at)
        values (${project_id}, gen_random_uuid(), 'contact_group.created', '{"name":"x"}', now())`
      await sleep(5)
    }
  }
  const flowing = flow()
  const looksWithin = async (ms: number) => {
    const before = about.looks
    await sleep(ms)
    return about.looks - before
  }
  try {
    await until('the first look', () => about.looks > 0)
    const calm = await looksWithin(2_000)
    assert.ok(calm <= 5, `${calm} looks in two seconds`)
    await tell('once')
    await until('it is calm again after a wake', async () => (await looksWithin(2_000)) <= 5)
    about.isOfInterest = true
    await until('it is followed', async () => (await looksWithin(2_000)) > 8)
  } finally {
    isOver = true
    await flowing
  }
})

test('a wake is followed for a while, since what it was for may become visible late', async (t) => {
  const { database, project_id, tell, start } = await openLog(t)
  const looks: number[] = []
  const consumer: Consumer = {
    name: 'roused',
    types: ['contact_group.created'],
    async handle() {
      looks.push(performance.now())
      // The next one has something to find, and nobody is roused for it.
      await database.run`
        insert into events (project_id, id, type, data, created_at)
        values (${project_id}, gen_random_uuid(), 'contact_group.created', '{"name":"x"}', now())`
      return false
    },
  }
  await start(consumer)
  // By itself it would look again after half a second.
  const followed = async () => {
    const before = looks.length
    await tell('once')
    await until('two looks more', () => looks.length >= before + 3)
    return (looks[before + 2] as number) - (looks[before + 1] as number) < 400
  }
  await until('it looks again at once', followed)
})

test('much that concerns nobody is passed over without rest', async (t) => {
  const { database, project_id, start, cursorOf } = await openLog(t)
  const consumer: Consumer = { name: 'behind', types: ['contact_group.created'], handle: async () => true }
  await database.run`
    insert into events (project_id, id, type, data, created_at)
    select ${project_id}, gen_random_uuid(), 'contact.created', '{}', now() from generate_series(1, 20000)`
  const last = await database.first<{ position: number }>`select max(position) as position from events`
  const began = performance.now()
  await start(consumer)
  await until('it is through', async () => (await cursorOf(consumer))?.position === last?.position, { withinMs: 30_000 })
  // Forty batches, with a rest of half a second after each, would take twenty seconds.
  assert.ok(performance.now() - began < 15_000, 'without rest')
})

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openEventLog, tellIn } from '../../../tests/support/event-log.ts'
import { until } from '../../../tests/support/until.ts'
import { currentSnapshot, horizonOf } from './event-queries.ts'
import { EventTail, type Follower } from './event-tail.ts'
import { followEvents, quiet } from './follow-events.ts'
import { isAfter, readMoment, rowIdsOf } from './place.ts'

const outbox = await openEventLog()
after(outbox.close)
const { database, log, project_id } = outbox
await database.run`insert into users (id, kind) values (${project_id}, 'human')`
await database.run`insert into projects (id, name, slug, owner_id) values (${project_id}, 'P', 'p', ${project_id})`

const types = ['contact_group.created'] as const

/** What a follower is told, until it is ended. */
function listen(follower: Follower, start: Parameters<typeof followEvents>[2]['start']) {
  const names: unknown[] = []
  const done = (async () => {
    for await (const some of followEvents(database, follower, { start, restMs: 100 }))
      if (some !== quiet) names.push(...some.map(({ data }) => data.name))
  })()
  return { names, done }
}

test('who is further behind than the queue holds reads the database, and is told each once, in order', async () => {
  const tail = new EventTail(database, log, { events: 3, bytes: 10_000 })
  const ending = new AbortController()
  const follower = await tail.follow({ project_id, types }, ending.signal)
  const start = { after: await horizonOf(database), since: readMoment(await currentSnapshot(database)) }
  follower.beginAnew()
  for (let number = 0; number < 10; number++) await outbox.tell(`${number}`)
  await until('the queue to be given up', () => follower.take() === null)
  const { names, done } = listen(follower, start)
  await until('all of it', () => names.length === 10)
  for (let number = 10; number < 30; number++) await outbox.tell(`${number}`)
  await until('all of it', () => names.length === 30)
  ending.abort()
  await done
  assert.deepEqual(
    names,
    Array.from({ length: 30 }, (_, number) => `${number}`),
  )
})

test('what commits late holds up what began later, and is not lost', async () => {
  const tail = new EventTail(database, log)
  const ending = new AbortController()
  const early = await outbox.openTransaction((tx) => tellIn(tx, project_id, 'early'))
  const follower = await tail.follow({ project_id, types }, ending.signal)
  const start = { after: await horizonOf(database), since: readMoment(await currentSnapshot(database)) }
  const { names, done } = listen(follower, start)
  await outbox.tell('later')
  await early.commit()
  await until('both', () => names.length === 2)
  ending.abort()
  await done
  assert.deepEqual(names, ['early', 'later'])
})

test('who comes after everybody has left is told as well', async () => {
  const tail = new EventTail(database, log)
  for (const name of ['one', 'two', 'three']) {
    const ending = new AbortController()
    const follower = await tail.follow({ project_id, types }, ending.signal)
    const start = { after: await horizonOf(database), since: readMoment(await currentSnapshot(database)) }
    const { names, done } = listen(follower, start)
    await outbox.tell(name)
    await until('it', () => names.length === 1)
    ending.abort()
    await done
    assert.deepEqual(names, [name])
  }
})

test('a moment knows what had been committed', () => {
  const moment = readMoment('100:110:102,105')
  assert.deepEqual(
    ['99', '100', '101', '102', '105', '109', '110', '18446744073709551615'].map((id) => moment.has(id)),
    [true, true, true, false, false, true, false, false],
  )
  assert.equal(readMoment('7:7:').has('7'), false)
})

test('places are ordered by transaction, then by position, beyond what a number holds', () => {
  const at = (transaction_id: string, position: number) => ({ transaction_id, position })
  assert.ok(isAfter(at('10', 1), at('9', 5)))
  assert.ok(isAfter(at('9007199254740993', 1), at('9007199254740992', 1)))
  assert.ok(!isAfter(at('9', 5), at('9', 5)))
  assert.deepEqual(rowIdsOf('01890000-0000-7000-8000-abcd0000001f' as never).item, 31)
})

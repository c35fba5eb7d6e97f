import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cloneDatabase } from '../../../tests/support/database.ts'
import { type ListId, newId, type ProjectId, type SubscriberId } from '../../base/ids.ts'
import { createLog } from '../../base/log.ts'
import { openDatabase } from '../../database/database.ts'
import { wrongBuckets } from './buckets.ts'
import { inviteNext, inviteThese } from './invite.ts'
import { enterLine, forgetEntries, leaveLine } from './line.ts'
import { findLine, lockLine, standingsOf } from './line-queries.ts'
import { moveUp } from './move-up.ts'
import type { LineKey } from './waiting-line.ts'

const clone = await cloneDatabase()
const database = openDatabase({ connection: clone.connection, clock: { now: () => new Date() }, log: createLog('silent') })
after(async () => {
  await database.close()
  await clone.drop()
})

const newLine = (): LineKey => ({ project_id: newId<'prj'>() as ProjectId, list_id: newId<'lst'>() as ListId })
const people = (count: number): SubscriberId[] => Array.from({ length: count }, () => newId<'sub'>())
const enter = (key: LineKey, ids: SubscriberId[], is_confirmed = true) =>
  database.transaction((tx) =>
    enterLine(
      tx,
      key,
      ids.map((subscriber_id) => ({ subscriber_id, is_confirmed })),
    ),
  )
const move = (key: LineKey, subscriber_id: SubscriberId, steps: number) =>
  database.transaction(async (tx) => {
    await lockLine(tx, key)
    await moveUp(tx, { ...key, subscriber_id }, steps)
  })

/** Everybody in the line has the position that the model says, and nobody else has one. */
async function assertLine(key: LineKey, model: SubscriberId[], others: SubscriberId[] = []): Promise<void> {
  const standings = await standingsOf(database, key, [...model, ...others])
  const found = new Map(standings.map(({ subscriber_id, position }) => [subscriber_id, position]))
  assert.deepEqual(
    model.map((id) => found.get(id)),
    model.map((_, index) => index + 1),
  )
  for (const id of others) assert.equal(found.get(id) ?? null, null)
  assert.equal((await findLine(database, key))?.waiting ?? 0, model.length)
  assert.deepEqual(await wrongBuckets(database), [])
}

test('people stand in the order in which they came, and those of another line do not count', async () => {
  const [key, other] = [newLine(), newLine()]
  const [ids, others] = [people(5), people(3)]
  for (const id of ids) await enter(key, [id])
  await enter(other, others)
  await assertLine(key, ids)
  await assertLine({ ...key, list_id: other.list_id }, [])
  await enter(key, ids)
  await assertLine(key, ids)
})

test('who moves up passes just so many, or all', async () => {
  const key = newLine()
  const [a, b, c, d, e] = people(5) as [SubscriberId, SubscriberId, SubscriberId, SubscriberId, SubscriberId]
  await enter(key, [a, b, c, d, e])
  await move(key, e, 3)
  await assertLine(key, [a, e, b, c, d])
  await move(key, e, 3)
  await assertLine(key, [e, a, b, c, d])
  await move(key, e, 50)
  await move(key, a, 0)
  await assertLine(key, [e, a, b, c, d])
  await move(key, d, 4)
  await assertLine(key, [d, e, a, b, c])
})

test('at one spot more move in than there are numbers between two places', async () => {
  const key = newLine()
  const ids = people(200)
  await enter(key, ids)
  const model = [...ids]
  for (const id of ids.slice(2)) {
    const at = model.indexOf(id)
    await move(key, id, at - 1)
    model.splice(1, 0, ...model.splice(at, 1))
  }
  await assertLine(key, model)
  await enter(key, [ids[0] as SubscriberId])
  const last = people(1)
  await enter(key, last)
  await assertLine(key, [...model, ...last])
})

test('a thousand at once and more: buckets are split, and emptied ones go', async () => {
  const key = newLine()
  const ids = people(3_500)
  await enter(key, ids)
  await assertLine(key, ids)
  const buckets = async () =>
    (await database.first<{ count: number; most: number }>`
      select count(*) as count, max(waiting) as most from waitlist_buckets where project_id = ${key.project_id} and list_id = ${key.list_id}`) as {
      count: number
      most: number
    }
  const { count, most } = await buckets()
  assert.ok(count >= 4 && most <= 1_000, `${count} buckets of at most ${most}`)
  const invited = await database.transaction(async (tx) => inviteNext(tx, await lockLine(tx, key), 3_400))
  assert.deepEqual(invited.map(({ subscriber_id }) => subscriber_id).toSorted(), ids.slice(0, 3_400).toSorted())
  await assertLine(key, ids.slice(3_400), ids.slice(0, 3_400))
  assert.equal((await buckets()).count, 1)
  await database.transaction((tx) => forgetEntries(tx, key, ids))
  await assertLine(key, [])
  assert.equal((await buckets()).count, 0)
  const { waiting, confirmed, invited: left } = (await findLine(database, key)) as { waiting: number; confirmed: number; invited: number }
  assert.deepEqual([waiting, confirmed, left], [0, 0, 0])
})

test('changes at the same time leave one order, and exact counts', async () => {
  const key = newLine()
  const ids = people(60)
  await Promise.all(ids.slice(0, 40).map((id) => enter(key, [id])))
  await Promise.all([
    ...ids.slice(40).map((id) => enter(key, [id])),
    ...ids.slice(0, 30).map((id) => move(key, id, 3)),
    ...ids.slice(30, 40).map((id) => database.transaction((tx) => leaveLine(tx, key, [id]))),
  ])
  const left = [...ids.slice(0, 30), ...ids.slice(40)]
  const standings = await standingsOf(database, key, ids)
  assert.deepEqual(
    standings.map(({ position }) => position as number).toSorted((a, b) => a - b),
    left.map((_, index) => index + 1),
  )
  assert.deepEqual(await wrongBuckets(database), [])
})

/** Numbers that look drawn by chance and are the same every time: mulberry32. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

interface Model {
  line: SubscriberId[]
  unconfirmed: Set<SubscriberId>
  gone: SubscriberId[]
}

/** What each change does to a plain array. */
const changes: Record<string, (key: LineKey, model: Model, pick: (below: number) => number) => Promise<void>> = {
  async join(key, model, pick) {
    const ids = people(1 + pick(4))
    const is_confirmed = pick(4) > 0
    await enter(key, ids, is_confirmed)
    model.line.push(...ids)
    if (!is_confirmed) for (const id of ids) model.unconfirmed.add(id)
  },
  async refer(key, model, pick) {
    const id = model.line[pick(Math.min(model.line.length, 40))]
    if (!id) return
    const steps = pick(8)
    await move(key, id, steps)
    const at = model.line.indexOf(id)
    model.line.splice(Math.max(0, at - steps), 0, ...model.line.splice(at, 1))
  },
  async leave(key, model, pick) {
    const ids = [model.line[pick(model.line.length || 1)], model.line[pick(model.line.length || 1)]].filter((id) => id !== undefined)
    await database.transaction((tx) => leaveLine(tx, key, ids))
    model.line = model.line.filter((id) => !ids.includes(id))
    model.gone.push(...ids)
  },
  async invite(key, model, pick) {
    const count = 1 + pick(3)
    await database.transaction(async (tx) => inviteNext(tx, await lockLine(tx, key), count))
    const invited = model.line.filter((id) => !model.unconfirmed.has(id)).slice(0, count)
    model.line = model.line.filter((id) => !invited.includes(id))
    model.gone.push(...invited)
  },
  async inviteOne(key, model, pick) {
    const ids = [model.line[pick(model.line.length || 1)]].filter((id) => id !== undefined)
    await database.transaction(async (tx) => inviteThese(tx, await lockLine(tx, key), ids))
    const invited = ids.filter((id) => !model.unconfirmed.has(id))
    model.line = model.line.filter((id) => !invited.includes(id))
    model.gone.push(...invited)
  },
}

for (const seed of [1, 2])
  test(`two thousand joins, referrals, invitations and leavings are as in a plain array (${seed})`, async () => {
    const key = newLine()
    const pick = numbers(seed)
    const model: Model = { line: [], unconfirmed: new Set(), gone: [] }
    const names = ['join', 'join', 'join', 'refer', 'refer', 'refer', 'refer', 'leave', 'invite', 'inviteOne']
    for (let step = 1; step <= 2_000; step++) {
      await changes[names[pick(names.length)] as string]?.(key, model, pick)
      if (step % 250 === 0) await assertLine(key, model.line, model.gone)
    }
  })

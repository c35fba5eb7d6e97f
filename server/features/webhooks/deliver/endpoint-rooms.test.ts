import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestClock } from '../../../../tests/support/posthaste.ts'
import { newId, type WebhookId } from '../../../base/ids.ts'
import type { CallOutcome } from './call-endpoint.ts'
import { EndpointRooms, mostAtOnce } from './endpoint-rooms.ts'

const outcome = (more: Partial<CallOutcome>): CallOutcome => ({
  status: 'delivered',
  http_status: 204,
  duration_ms: 10,
  error: null,
  response_headers: null,
  response_body: null,
  attempted_at: new Date(),
  retry_after_ms: null,
  ...more,
})
const yes = outcome({})
const slowYes = outcome({ duration_ms: 5_000 })
const no = outcome({ status: 'failed', http_status: 500 })

/** Fills its room, and answers all that are under way. */
function turn(rooms: EndpointRooms, id: WebhookId, what: CallOutcome): number {
  const leaving = Array.from({ length: rooms.roomFor(id) }, () => rooms.enter(id, `https://${id}.example/`))
  assert.equal(rooms.roomFor(id), 0, 'no more than its room')
  for (const leave of leaving) leave(what)
  return leaving.length
}

test('an endpoint that does well gets 1, 2, 4, then 8 at once; each failure halves that', () => {
  const clock = createTestClock()
  const rooms = new EndpointRooms(clock)
  const id = newId<'whk'>()
  assert.equal(turn(rooms, id, yes), 1)
  assert.equal(turn(rooms, id, yes), 2)
  for (let round = 0; round < 4; round++) turn(rooms, id, yes)
  assert.equal(rooms.roomFor(id), 8)
  rooms.enter(id, 'https://a.example/')(no)
  assert.equal(rooms.roomFor(id), 4)
  rooms.enter(id, 'https://a.example/')(no)
  rooms.enter(id, 'https://a.example/')(no)
  assert.equal(rooms.roomFor(id), 1)
})

test('one that fails again and again is left alone for longer and longer, and a yes ends that', () => {
  const clock = createTestClock()
  const rooms = new EndpointRooms(clock)
  const id = newId<'whk'>()
  for (let failure = 0; failure < 5; failure++) turn(rooms, id, no)
  assert.equal(rooms.restsUntil(id), null)
  turn(rooms, id, no)
  assert.ok(rooms.restsUntil(id))
  assert.equal(rooms.roomFor(id), 0)
  clock.advance(5_000)
  assert.equal(rooms.roomFor(id), 1)
  turn(rooms, id, yes)
  assert.equal(rooms.restsUntil(id), null)
})

test('one that asks to be left alone is, for a minute at most', () => {
  const clock = createTestClock()
  const rooms = new EndpointRooms(clock)
  const id = newId<'whk'>()
  turn(rooms, id, outcome({ status: 'failed', http_status: 429, retry_after_ms: 3_600_000 }))
  clock.advance(55_000)
  assert.equal(rooms.roomFor(id), 0)
  clock.advance(6_000)
  assert.equal(rooms.roomFor(id), 1)
})

test('thousands that hang leave room for those that are well', () => {
  const rooms = new EndpointRooms(createTestClock())
  const ill = Array.from({ length: 3_000 }, () => newId<'whk'>())
  for (const id of ill) turn(rooms, id, slowYes)
  const under = ill.filter((id) => rooms.roomFor(id) > 0 && rooms.enter(id, `https://${id}.example/`))
  assert.ok(under.length > 100)
  assert.ok(rooms.free >= mostAtOnce / 3, `${rooms.free} are free`)
  assert.equal(rooms.roomFor(newId<'whk'>()), 1)
})

test('endpoints of one host that hang leave room for the others there', () => {
  const rooms = new EndpointRooms(createTestClock())
  const ill = Array.from({ length: 500 }, () => newId<'whk'>())
  for (const id of ill) rooms.enter(id, 'https://hooks.example/')(slowYes)
  const under = ill.filter((id) => rooms.roomFor(id) > 0 && rooms.enter(id, 'https://hooks.example/'))
  assert.equal(under.length, 48)
})

test('places that are given back are free again', () => {
  const rooms = new EndpointRooms(createTestClock())
  const ids = Array.from({ length: 200 }, () => newId<'whk'>())
  for (const what of [yes, no, slowYes, yes]) for (const id of ids) turn(rooms, id, what)
  assert.equal(rooms.free, mostAtOnce)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FillWatch } from './fill-watch.ts'
import { MessageRoom } from './message-room.ts'

test('a full room makes wait until something has left; leaving twice counts once', async () => {
  const room = new MessageRoom(100)
  const [first, second] = [room.hold(60), room.hold(60)]
  assert.equal(room.isFull, true)
  let isRoused = false
  const waiting = room.untilLess().then(() => {
    isRoused = true
  })
  first()
  first()
  await waiting
  assert.deepEqual([isRoused, room.isFull], [true, false])
  room.hold(40)
  assert.equal(room.isFull, true)
  second()
  assert.equal(room.isFull, false)
})

test('one message that is larger than the room still goes', () => {
  const room = new MessageRoom(100)
  assert.equal(room.isFull, false)
  room.hold(1_000)()
  assert.equal(room.isFull, false)
})

const filledIn = (watch: FillWatch, times: number, ms: number) =>
  Array.from({ length: times }, () => watch.filled(ms)).filter((trouble) => trouble !== null)

test('a post that is dear for reader after reader is told, one that is dear for some is not', () => {
  assert.deepEqual(filledIn(new FillWatch(), 400, 24), [])
  const [trouble] = filledIn(new FillWatch(), 40, 30)
  assert.match(String(trouble), /^filling it in takes 30 ms for each reader, and at most 25 ms are allowed/)
  const mixed = new FillWatch()
  for (let reader = 0; reader < 200; reader++) assert.equal(mixed.filled(reader % 10 === 0 ? 90 : 1), null)
})

test('ten failures in a row are told, and begin anew', () => {
  const watch = new FillWatch()
  const failures = (times: number) =>
    Array.from({ length: times }, () => watch.failed(new Error('why'))).filter((trouble) => trouble !== null)
  assert.deepEqual(failures(9), [])
  watch.filled(0.1)
  assert.deepEqual(failures(9), [])
  assert.match(String(failures(1)[0]), /10 readers in a row\. The last problem: why\./)
  assert.deepEqual(failures(9), [])
})

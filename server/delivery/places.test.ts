import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Places } from './places.ts'

const takeAll = (places: Places<string>, owner: string): number => {
  let taken = 0
  for (; !places.isFull && places.hasRoomFor(owner); taken++) places.take(owner)
  return taken
}

test('one alone takes most of it; whoever comes while all of that is held still finds room', () => {
  const places = new Places<string>(100)
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((owner) => takeAll(places, owner)),
    [75, 19, 5, 1],
  )
  assert.equal(places.taken, 100)
  assert.ok(places.isFull)
})

test('what one leaves the others may have', () => {
  const places = new Places<string>(8)
  assert.equal(takeAll(places, 'a'), 6)
  assert.deepEqual(places.full, ['a'])
  places.leave('a')
  assert.ok(places.hasRoomFor('a') && places.full.length === 0)
  for (let left = 0; left < 5; left++) places.leave('a')
  assert.equal(places.taken, 0)
  assert.equal(takeAll(places, 'b'), 6)
})

test('few places are used as well', () => {
  assert.equal(takeAll(new Places(1), 'a'), 1)
  assert.equal(takeAll(new Places(2), 'a'), 2)
})

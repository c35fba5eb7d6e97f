import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FairQueue } from './fair-queue.ts'
import { TokenBucket } from './token-bucket.ts'

test('lanes take turns, and each is first in, first out', () => {
  const queue = new FairQueue<{ lane: string; id: string }>(({ lane }) => lane)
  for (const id of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) queue.add({ lane: id[0] as string, id })
  assert.equal(queue.length, 6)
  const order = Array.from({ length: 7 }, () => queue.take()?.id)
  assert.deepEqual(order, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', undefined])
  assert.equal(queue.length, 0)
})

test('what is given back is first again', () => {
  const queue = new FairQueue<{ lane: string; id: number }>(({ lane }) => lane)
  for (const id of [1, 2]) queue.add({ lane: '', id })
  const first = queue.take()
  if (first) queue.addFirst(first)
  assert.deepEqual(
    queue.takeAll().map(({ id }) => id),
    [1, 2],
  )
  assert.equal(queue.length, 0)
  assert.equal(queue.take(), null)
})

test('a bucket lets its rate through, and no more after a rest', () => {
  const bucket = new TokenBucket(50, 0)
  let taken = 0
  for (let now = 0; now < 1000; now++) while (bucket.take(now) === 0) taken++
  assert.ok(taken >= 53 && taken <= 55, String(taken))
  let atOnce = 0
  while (bucket.take(1_000_000) === 0) atOnce++
  assert.equal(atOnce, 5)
})

test('a bucket says how long to wait, and keeps its word', () => {
  const bucket = new TokenBucket(0.5, 0)
  assert.equal(bucket.take(0), 0)
  assert.equal(bucket.take(0), 2000)
  assert.equal(bucket.take(1500), 500)
  assert.equal(bucket.take(2000), 0)
  assert.ok(bucket.take(1000) > 0, 'a clock that goes back gives nothing')
})

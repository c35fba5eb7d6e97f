import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMessageBuffers } from './message-buffers.ts'

test('what is in use is nobody else’s, and what was given back is used again', () => {
  const buffers = createMessageBuffers()
  const taken = Array.from({ length: 50 }, (_, index) => buffers.take(30_000 + index).fill(index))
  for (const [index, one] of taken.entries()) assert.ok(one.length === 30_000 + index && one.every((byte) => byte === index))
  const places = new Set(taken.map(({ buffer }) => buffer))
  assert.equal(places.size, 50)
  for (const one of taken) buffers.giveBack(one)
  const again = Array.from({ length: 50 }, () => buffers.take(32_000))
  assert.ok(again.every(({ buffer, length }) => places.has(buffer) && length === 32_000))
  assert.equal(new Set(again.map(({ buffer }) => buffer)).size, 50, 'each once')
  assert.ok(!places.has(buffers.take(32_000).buffer), 'and a new one when all are out')
})

test('small ones never share their room with others', () => {
  const buffers = createMessageBuffers()
  const [one, other] = [buffers.take(10), buffers.take(10)]
  assert.notEqual(one.buffer, other.buffer)
  assert.notEqual(one.buffer, Buffer.allocUnsafe(10).buffer)
})

test('room of other sizes, and of very large messages, is not kept for ever', () => {
  const buffers = createMessageBuffers()
  const small = Array.from({ length: 400 }, () => buffers.take(16_000))
  for (const one of small) buffers.giveBack(one)
  const large = buffers.take(6 * 2 ** 20)
  buffers.giveBack(large)
  assert.equal(buffers.take(6 * 2 ** 20).buffer, large.buffer)
  assert.ok(!small.some(({ buffer }) => buffer === buffers.take(16_000).buffer), 'the small ones made way')
  const huge = buffers.take(9 * 2 ** 20)
  buffers.giveBack(huge)
  assert.notEqual(buffers.take(9 * 2 ** 20).buffer, huge.buffer)
})

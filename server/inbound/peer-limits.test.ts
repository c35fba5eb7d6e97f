import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPeerCounts } from './peer-limits.ts'

const limits = { connections: 2, messages_per_minute: 3, wrong_recipients: 2, wrong_recipients_per_hour: 5 }

function counting() {
  let ms = 0
  const counts = createPeerCounts(limits, () => ms)
  return { counts, pass: (more: number) => (ms += more) }
}
const times = <Value>(count: number, act: () => Value) => Array.from({ length: count }, act)

test('a peer has so many connections at once, and another peer its own', () => {
  const { counts } = counting()
  assert.deepEqual(
    times(3, () => counts.enter('a')?.enhanced ?? null),
    [null, null, '4.7.0'],
  )
  assert.equal(counts.enter('b'), null)
  counts.leave('a')
  assert.equal(counts.enter('a'), null)
  assert.equal(counts.enter('a')?.code, 421)
})

test('messages are counted by the minute', () => {
  const { counts, pass } = counting()
  assert.deepEqual(
    times(4, () => counts.beginMessage('a')?.code ?? null),
    [null, null, null, 450],
  )
  assert.equal(counts.beginMessage('b'), null)
  pass(60_000)
  assert.equal(counts.beginMessage('a'), null)
})

test('wrong recipients end a session, and too many of them end the talk for an hour', () => {
  const { counts, pass } = counting()
  assert.equal(counts.nameWrongRecipient('a', 1), null)
  assert.equal(counts.nameWrongRecipient('a', 2)?.code, 421)
  assert.equal(counts.enter('a'), null)
  assert.equal(counts.nameWrongRecipient('a', 1), null)
  assert.equal(counts.nameWrongRecipient('a', 1), null)
  assert.equal(counts.nameWrongRecipient('a', 1)?.code, 421)
  assert.equal(counts.enter('a')?.enhanced, '4.7.0')
  assert.equal(counts.enter('b'), null)
  pass(3_600_000)
  assert.equal(counts.enter('a'), null)
})

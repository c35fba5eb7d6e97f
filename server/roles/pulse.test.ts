import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pulse } from './pulse.ts'

const ticked = (pulse: Pulse, times: number) => {
  for (let tick = 0; tick < times; tick++) pulse.tick()
  return [pulse.isQuiet, pulse.isDead]
}

test('silence is told after ten seconds, and taken for death after half a minute', () => {
  const pulse = new Pulse()
  assert.deepEqual(ticked(pulse, 5), [false, false])
  assert.deepEqual(ticked(pulse, 1), [true, false])
  assert.deepEqual(ticked(pulse, 9), [true, false])
  assert.deepEqual(ticked(pulse, 1), [true, true])
})

test('a single beat is enough to live on', () => {
  const pulse = new Pulse()
  ticked(pulse, 15)
  pulse.beat()
  assert.deepEqual(ticked(pulse, 5), [false, false])
})

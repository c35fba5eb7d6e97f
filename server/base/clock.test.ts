import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { momentOf, msSince } from './clock.ts'

const hourMs = 3_600_000

test('how long ago something was is told by whichever clock says more', async () => {
  let movedMs = 0
  const clock = { now: () => new Date(Date.now() + movedMs) }
  const moment = momentOf(clock)
  await sleep(20)
  movedMs = -hourMs
  assert.ok(msSince(moment, clock) >= 15, 'set back, the clock on the wall says less than has passed')
  assert.ok(msSince(moment, clock) < hourMs / 2)
  movedMs = hourMs
  assert.ok(msSince(moment, clock) >= hourMs, 'set forward, or after a sleep of the machine, it says more')
})

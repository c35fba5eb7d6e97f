import assert from 'node:assert/strict'
import { test } from 'node:test'
import { later, minuteMs, nextCheckOfSilent } from './pace.ts'

test('each pause of a silent domain is twice the one before, a quarter of an hour at most, and never less than the usual', () => {
  const now = new Date('2026-11-15T12:00:00Z')
  const pause = (minutesAgo: number | null, usualMinutes = 1) =>
    (nextCheckOfSilent(later(now, usualMinutes * minuteMs), {
      last_checked_at: minutesAgo === null ? null : later(now, -minutesAgo * minuteMs),
      now,
    }).getTime() -
      now.getTime()) /
    minuteMs
  assert.deepEqual(
    [pause(null), pause(0.1), pause(1), pause(2), pause(4), pause(8), pause(600), pause(15, 60)],
    [1, 1, 2, 4, 8, 15, 15, 60],
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ceilingOn, startOfNextDay, warmUpToday } from './warm-up-days.ts'

const at = (text: string) => new Date(text)

test('the ceiling begins at 200, doubles each day of UTC, and is gone after fourteen', () => {
  const began = at('2026-03-01T23:59:59.999Z')
  assert.equal(ceilingOn(began, began), 200)
  assert.equal(ceilingOn(began, at('2026-03-02T00:00:00Z')), 400)
  assert.equal(ceilingOn(began, at('2026-03-03T23:59:59Z')), 800)
  assert.equal(ceilingOn(began, at('2026-03-14T12:00:00Z')), 200 * 2 ** 13)
  assert.equal(ceilingOn(began, at('2026-03-15T00:00:00Z')), null)
  assert.equal(ceilingOn(began, at('2027-01-01T00:00:00Z')), null)
})

test('a clock that is behind sees the first day', () => {
  assert.equal(ceilingOn(at('2026-03-02T00:10:00Z'), at('2026-03-01T23:50:00Z')), 200)
})

test('what is left of a day is told, and when it goes on once nothing is', () => {
  const row = { started_at: at('2026-03-01T10:00:00Z'), counted_from: at('2026-03-01T00:00:00Z'), sent: 199 }
  const now = at('2026-03-01T18:00:00Z')
  assert.deepEqual(warmUpToday(row, now), { ceiling: 200, sent_today: 199, continues_at: null })
  const continues_at = at('2026-03-02T00:00:00Z')
  assert.deepEqual(warmUpToday({ ...row, sent: 203 }, now), { ceiling: 200, sent_today: 203, continues_at })
  assert.deepEqual(warmUpToday({ ...row, sent: 203 }, continues_at), { ceiling: 400, sent_today: 0, continues_at: null })
  assert.equal(warmUpToday(row, at('2026-03-15T00:00:00Z')), null)
  // Some other clock is in tomorrow already: what it counts is not forgotten.
  assert.equal(warmUpToday({ ...row, counted_from: continues_at, sent: 250 }, now)?.sent_today, 250)
  assert.deepEqual(startOfNextDay(continues_at), at('2026-03-03T00:00:00Z'))
})

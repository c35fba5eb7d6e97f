import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endOf, ttl } from './lifetime.ts'

const day = 86_400

test('a ttl is a number of seconds, or a count of seconds, minutes, hours or days', () => {
  const cases: [unknown, number][] = [
    ['1h', 3600],
    ['24h', day],
    ['7d', 7 * day],
    ['45m', 2700],
    ['6h', 6 * 3600],
    ['30d', 30 * day],
    ['90s', 90],
    ['1', 1],
    ['3600', 3600],
    [3600, 3600],
    [1, 1],
    [30 * day, 30 * day],
    [' 2H ', 7200],
    ['007d', 7 * day],
  ]
  for (const [given, seconds] of cases) assert.equal(ttl.parse(given), seconds, JSON.stringify(given))
})

test('what is no duration, nothing at all, or over 30 days is refused in words', () => {
  const cases: [unknown, RegExp][] = [
    ['31d', /at most 30 days/],
    ['721h', /at most 30 days/],
    [30 * day + 1, /at most 30 days/],
    ['999999999d', /at most 30 days/],
    ['0h', /at least a second/],
    [0, /at least a second/],
    ['1y', /such as 45m/],
    ['1w', /such as 45m/],
    ['', /such as 45m/],
    ['h', /such as 45m/],
    ['-1h', /such as 45m/],
    ['1.5h', /such as 45m/],
    ['1h30m', /such as 45m/],
    ['9999999999', /such as 45m/],
    ['1e5', /such as 45m/],
    ['tomorrow', /such as 45m/],
    [-5, /such as 45m/],
    [1.5, /such as 45m/],
    [1e308, /such as 45m/],
    [true, /such as 45m/],
    [null, /such as 45m/],
    [{}, /such as 45m/],
    [['1h'], /such as 45m/],
  ]
  for (const [given, message] of cases) {
    const { success, error } = ttl.safeParse(given)
    assert.equal(success, false, JSON.stringify(given))
    assert.match(error?.issues[0]?.message ?? '', message, JSON.stringify(given))
  }
})

test('only a disposable mailbox ends when nothing is said, after a day', () => {
  const now = new Date('2026-11-15T09:00:00Z')
  assert.deepEqual(endOf({ type: 'disposable' }, now), new Date('2026-11-16T09:00:00Z'))
  assert.equal(endOf({ type: 'persistent' }, now), null)
  assert.equal(endOf({ type: 'proxy' }, now), null)
  assert.deepEqual(endOf({ type: 'proxy', ttl: 60 }, now), new Date('2026-11-15T09:01:00Z'))
  assert.throws(() => endOf({ type: 'disposable', ttl: 60, expires_at: now }, now), /^ApiError: expires_at: says the same as ttl/)
  assert.throws(() => endOf({ type: 'disposable', expires_at: now }, now), /must be in the future/)
})

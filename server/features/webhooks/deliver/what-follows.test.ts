import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallOutcome } from './call-endpoint.ts'
import { retryAfterMs } from './call-endpoint.ts'
import { whatFollows } from './what-follows.ts'

const now = new Date('2026-11-01T12:00:00Z')
const outcome = (http_status: number | null, more: Partial<CallOutcome> = {}): CallOutcome => ({
  status: http_status !== null && http_status >= 200 && http_status < 300 ? 'delivered' : 'failed',
  http_status,
  duration_ms: 0,
  error: null,
  response_headers: null,
  response_body: null,
  attempted_at: now,
  retry_after_ms: null,
  ...more,
})
const rules = { backoffSeconds: [30, 300], chance: 0.5 }
const event = (attempt: number) => ({ attempt, event_type: 'list.created' as const })
const waitOf = (attempt: number, what: CallOutcome, chance = 0.5) =>
  ((whatFollows(event(attempt), what, { ...rules, chance }).next_at?.getTime() ?? Number.NaN) - now.getTime()) / 1_000

test('a yes ends it, whichever attempt it was', () => {
  for (const attempt of [0, 1, 2])
    assert.deepEqual(whatFollows(event(attempt), outcome(204), rules), {
      status: 'delivered',
      next_at: null,
      counts: 'delivered',
      isGone: false,
    })
})

test('a no waits 30 s, then 5 minutes, each give or take a fifth, and is final the third time', () => {
  assert.deepEqual(
    [0, 0.5, 1].map((chance) => waitOf(0, outcome(500), chance)),
    [24, 30, 36],
  )
  assert.deepEqual(
    [0, 0.5, 1].map((chance) => waitOf(1, outcome(null), chance)),
    [240, 300, 360],
  )
  assert.deepEqual(whatFollows(event(2), outcome(500), rules), { status: 'failed', next_at: null, counts: 'failed', isGone: false })
})

test('the wait begins with the answer', () => {
  assert.equal(waitOf(0, outcome(500, { duration_ms: 10_000 })), 40)
})

test('an endpoint that asks for more time gets it, up to an hour; one that asks for less does not', () => {
  assert.equal(waitOf(0, outcome(503, { retry_after_ms: 120_000 })), 120)
  assert.equal(waitOf(0, outcome(429, { retry_after_ms: 86_400_000 })), 3_600)
  assert.equal(waitOf(0, outcome(429, { retry_after_ms: 1_000 })), 30)
})

test('410 is final at once', () => {
  assert.deepEqual(whatFollows(event(0), outcome(410), rules), { status: 'failed', next_at: null, counts: 'failed', isGone: true })
})

test('a test is tried once and counts for nothing', () => {
  const test = { attempt: 0, event_type: 'webhook.test' as const }
  for (const status of [204, 410, 500]) {
    const follows = whatFollows(test, outcome(status), rules)
    assert.deepEqual([follows.counts, follows.isGone, follows.next_at], [null, false, null])
    assert.equal(follows.status, status === 204 ? 'delivered' : 'failed')
  }
})

test('Retry-After is seconds or a date, and nothing else', () => {
  const cases: [string | string[] | undefined, number | null][] = [
    ['120', 120_000],
    ['0', 0],
    [' 7 ', 7_000],
    ['Sun, 01 Nov 2026 12:01:00 GMT', 60_000],
    ['Sun, 01 Nov 2026 11:00:00 GMT', 0],
    ['soon', null],
    ['-5', null],
    ['', null],
    [['1', '2'], null],
    [undefined, null],
  ]
  for (const [value, expected] of cases) assert.equal(retryAfterMs(value, now), expected, String(value))
})

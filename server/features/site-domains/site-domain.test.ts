import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { afterCheck, type DomainState, isNaked, nextCheck, type Seen, tryAgain } from './site-domain.ts'

const start = new Date('2026-11-15T12:00:00Z')
const hours = (count: number) => new Date(start.getTime() + count * 3_600_000)

const pending: DomainState = { status: 'pending', pending_since: start, failing_since: null, missed_checks: 0, trouble: null }
const active: DomainState = { ...pending, status: 'active' }
const all: Seen = { records: 'found', isReady: true, failedOrders: 0 }
const none: Seen = { records: 'missing', isReady: false, failedOrders: 0 }

describe('a pending domain', () => {
  it('is active when all is there', () => assert.deepEqual(afterCheck(pending, all, hours(1)), active))
  it('waits for its certificate', () => assert.deepEqual(afterCheck(pending, { ...all, isReady: false }, hours(1)), pending))
  it('waits for its records, whatever its certificate', () =>
    assert.deepEqual(afterCheck(pending, { ...none, isReady: true }, hours(1)), pending))
  it('has failed after seven days, also when nobody answers', () => {
    for (const records of ['missing', 'conflict', 'unknown'] as const) {
      assert.equal(afterCheck(pending, { ...none, records }, hours(167)).status, 'pending')
      const after = afterCheck(pending, { ...none, records }, hours(168))
      assert.deepEqual([after.status, after.trouble], ['failed', 'late'])
    }
  })
  it('has failed after five orders that came to nothing', () => {
    assert.equal(afterCheck(pending, { ...all, isReady: false, failedOrders: 4 }, hours(30)).status, 'pending')
    const after = afterCheck(pending, { ...all, isReady: false, failedOrders: 5 }, hours(30))
    assert.deepEqual([after.status, after.trouble], ['failed', 'orders'])
  })
})

describe('an active domain', () => {
  it('forgives a miss, or two, or a day of silence', () => {
    const once = afterCheck(active, none, hours(1))
    assert.deepEqual([once.status, once.failing_since, once.missed_checks], ['active', hours(1), 1])
    const twice = afterCheck(once, none, hours(30))
    assert.deepEqual([twice.status, twice.missed_checks], ['active', 2])
    assert.deepEqual(afterCheck(twice, { ...none, records: 'unknown' }, hours(60)), twice)
    assert.deepEqual(afterCheck(twice, { ...all, isReady: false }, hours(61)), active)
  })
  it('is pending again after three over a day', () => {
    let state = active
    for (const at of [1, 12, 24]) state = afterCheck(state, none, hours(at))
    assert.equal(state.status, 'active')
    state = afterCheck(state, none, hours(25))
    assert.deepEqual(state, { ...pending, pending_since: hours(25), trouble: 'gone' })
    assert.deepEqual(afterCheck(state, all, hours(26)), { ...active, pending_since: hours(25) })
  })
})

describe('a failed domain', () => {
  const failed: DomainState = { ...pending, status: 'failed', trouble: 'late' }
  it('stays so, and heals', () => {
    assert.deepEqual(afterCheck(failed, none, hours(200)), failed)
    assert.deepEqual(afterCheck(failed, all, hours(200)), active)
  })
  it('begins a new try when it is asked for', () => {
    assert.deepEqual(tryAgain(failed, hours(200)), { ...pending, pending_since: hours(200) })
    assert.equal(tryAgain(active, hours(200)), active)
  })
})

describe('the next check', () => {
  const minutes = (state: DomainState, seen: Seen, at: Date) => {
    const next = nextCheck(state, seen, at)
    return next && (next.getTime() - at.getTime()) / 60_000
  }
  it('comes the later the older a try is', () => {
    assert.equal(minutes(pending, none, hours(0.5)), 1)
    assert.equal(minutes(pending, none, hours(5)), 5)
    assert.equal(minutes(pending, none, hours(50)), 60)
    assert.equal(minutes({ ...pending, status: 'failed', trouble: 'late' }, none, hours(24 * 40)), 24 * 60)
  })
  it('comes soon while only the certificate is missing', () => assert.equal(minutes(pending, { ...all, isReady: false }, hours(50)), 1))
  it('of an active domain comes every six hours, and sooner when something is amiss', () => {
    assert.equal(minutes(active, all, hours(50)), 360)
    assert.equal(minutes({ ...active, failing_since: start, missed_checks: 1 }, none, hours(50)), 60)
  })
  it('does not come for one that has moved', () =>
    assert.equal(minutes({ ...pending, status: 'failed', trouble: 'moved' }, none, hours(1)), null))
})

it('a domain is naked when nothing is before what was registered', () => {
  for (const domain of ['example.com', 'example.co.uk', 'me.github.io', 'xn--bcher-kva.example'])
    assert.equal(isNaked(domain), true, domain)
  for (const domain of ['www.example.com', 'blog.example.co.uk', 'a.me.github.io']) assert.equal(isNaked(domain), false, domain)
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Outcome } from '../dns-records/index.ts'
import { afterCheck, afterTaken, type DomainState, isLost, nextCheck, tryAgain } from './sender-domain.ts'

const start = new Date('2026-11-15T12:00:00Z')
const hours = (count: number) => new Date(start.getTime() + count * 3_600_000)

const pending: DomainState = {
  status: 'pending',
  pending_since: start,
  verified_at: null,
  failing_since: null,
  missed_checks: 0,
  conflict_since: null,
  trouble: null,
}

/** Checks at hours from the start, one after the other. */
const through = (state: DomainState, checks: [hour: number, outcome: Outcome][]): DomainState =>
  checks.reduce((before, [hour, outcome]) => afterCheck(before, outcome, hours(hour)), state)

const verified = through(pending, [[1, 'found']])

describe('a pending domain', () => {
  const cases: [string, [number, Outcome][], DomainState['status'], DomainState['trouble']][] = [
    [
      'is verified when all is found',
      [
        [0, 'missing'],
        [0.5, 'found'],
      ],
      'verified',
      null,
    ],
    [
      'stays while something is missing',
      [
        [1, 'missing'],
        [71.9, 'missing'],
      ],
      'pending',
      null,
    ],
    [
      'has failed after 72 hours',
      [
        [1, 'missing'],
        [72, 'missing'],
      ],
      'failed',
      'late',
    ],
    ['has failed after 72 hours of silence as well', [[72, 'unknown']], 'failed', 'late'],
    ['stays after one sight of a conflict', [[0.1, 'conflict']], 'pending', null],
    [
      'stays after two in a moment: somebody may be at it',
      [
        [0.1, 'conflict'],
        [0.15, 'conflict'],
      ],
      'pending',
      null,
    ],
    [
      'has failed after a conflict that stayed',
      [
        [0.1, 'conflict'],
        [0.2, 'conflict'],
      ],
      'failed',
      'conflict',
    ],
    [
      'forgets a conflict that was mended',
      [
        [0.1, 'conflict'],
        [0.2, 'missing'],
        [0.3, 'conflict'],
      ],
      'pending',
      null,
    ],
    [
      'is not judged by silence between conflicts',
      [
        [0.1, 'conflict'],
        [0.2, 'unknown'],
      ],
      'pending',
      null,
    ],
    [
      'is verified after it had failed, when all is found',
      [
        [72, 'missing'],
        [80, 'found'],
      ],
      'verified',
      null,
    ],
    [
      'stays failed while something is missing',
      [
        [72, 'missing'],
        [80, 'conflict'],
        [90, 'conflict'],
      ],
      'failed',
      'late',
    ],
  ]
  for (const [what, checks, status, trouble] of cases)
    it(what, () => {
      const after = through(pending, checks)
      assert.deepEqual([after.status, after.trouble], [status, trouble])
      assert.equal(isLost(after), false)
    })
})

describe('a verified domain', () => {
  const cases: [string, [number, Outcome][], DomainState['status'], number][] = [
    ['stays while all is found', [[7, 'found']], 'verified', 0],
    ['stays after one miss', [[7, 'missing']], 'verified', 1],
    [
      'stays after many within a day',
      [
        [7, 'missing'],
        [8, 'missing'],
        [9, 'conflict'],
        [30.9, 'missing'],
      ],
      'verified',
      4,
    ],
    [
      'stays after two over a day',
      [
        [7, 'missing'],
        [40, 'missing'],
      ],
      'verified',
      2,
    ],
    [
      'has failed after three over a day',
      [
        [7, 'missing'],
        [8, 'missing'],
        [31, 'missing'],
      ],
      'failed',
      3,
    ],
    [
      'is not judged by silence',
      [
        [7, 'missing'],
        [8, 'unknown'],
        [9, 'unknown'],
        [31, 'unknown'],
        [90, 'unknown'],
      ],
      'verified',
      1,
    ],
    [
      'begins to count anew when all was found between',
      [
        [7, 'missing'],
        [8, 'missing'],
        [9, 'found'],
        [31, 'missing'],
        [32, 'missing'],
      ],
      'verified',
      2,
    ],
  ]
  for (const [what, checks, status, missed] of cases)
    it(what, () => {
      const after = through(verified, checks)
      assert.deepEqual([after.status, after.missed_checks, isLost(after)], [status, missed, status === 'failed'])
    })

  it('that was lost and found again is as before', () => {
    const lost = through(verified, [
      [7, 'missing'],
      [8, 'missing'],
      [31, 'missing'],
    ])
    const back = afterCheck(lost, 'found', hours(40))
    assert.deepEqual([back.status, back.verified_at, back.failing_since, back.trouble], ['verified', hours(40), null, null])
  })
})

describe('a domain that another project has', () => {
  const late = through(pending, [[1, 'missing']])
  it('is said to be so as long as all is there', () => {
    const taken = afterTaken(late, hours(2))
    assert.equal(afterCheck(taken, 'unknown', hours(3)).trouble, 'taken')
    for (const outcome of ['missing', 'conflict'] as const)
      assert.deepEqual([afterCheck(taken, outcome, hours(3)).status, afterCheck(taken, outcome, hours(3)).trouble], ['pending', null])
  })
  it('has failed after 72 hours, and then as well', () => {
    const taken = afterTaken(late, hours(72))
    assert.deepEqual([taken.status, taken.trouble], ['failed', 'taken'])
    assert.deepEqual([afterCheck(taken, 'missing', hours(80)).status, afterCheck(taken, 'missing', hours(80)).trouble], ['failed', null])
  })
})

describe('a new try', () => {
  it('begins for a domain that has failed, and only for such a one', () => {
    const failed = through(pending, [[72, 'missing']])
    assert.deepEqual(tryAgain(failed, hours(80)), { ...pending, pending_since: hours(80) })
    assert.equal(tryAgain(pending, hours(80)), pending)
    assert.equal(tryAgain(verified, hours(80)), verified)
  })
})

describe('the next check', () => {
  const minutes = (state: DomainState, hour: number, hasNewKey = false) =>
    (nextCheck(state, { now: hours(hour), hasNewKey }).getTime() - hours(hour).getTime()) / 60_000
  it('comes the later the older a try is', () => {
    assert.deepEqual(
      [0, 0.9, 1, 23, 24, 24 * 29, 24 * 31].map((hour) => minutes(pending, hour)),
      [1, 1, 5, 5, 60, 60, 1_440],
    )
  })
  it('of a verified domain comes every six hours, and sooner when something is new or missing', () => {
    assert.equal(minutes(verified, 7), 360)
    assert.equal(minutes(verified, 7, true), 5)
    assert.equal(minutes(through(verified, [[7, 'missing']]), 8), 60)
  })
})

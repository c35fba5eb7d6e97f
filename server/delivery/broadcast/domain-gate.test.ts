import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DomainGate } from './domain-gate.ts'

const limit = (domain: string, rate: number, concurrency: number | null = null) => ({ domain, rate, concurrency })
const takeAll = (gate: DomainGate, domain: string, now: number): number => {
  let taken = 0
  while (taken < 1_000 && gate.tryTake(domain, now)) taken++
  return taken
}

test('without limits nobody has to ask', () => {
  const gate = new DomainGate()
  assert.ok(gate.isOpen)
  assert.equal(takeAll(gate, 'example.org', 0), 1_000)
})

test('a rate lets so many through a second, and says when to come again', () => {
  const gate = new DomainGate([limit('slow.test', 20)])
  assert.ok(!gate.isOpen)
  let taken = 0
  for (let now = 0; now < 10_000; now += 10) taken += takeAll(gate, 'slow.test', now)
  assert.ok(taken >= 199 && taken <= 202, `${taken} in ten seconds`)
  assert.equal(takeAll(gate, 'slow.test', 20_000), 2)
  assert.equal(gate.nextAt('slow.test'), 20_050)
  assert.equal(takeAll(gate, 'other.test', 0), 1_000)
})

test('a rate below one a second is held as well', () => {
  const gate = new DomainGate([limit('slow.test', 0.1)])
  let taken = 0
  for (let now = 0; now < 60_000; now += 500) taken += takeAll(gate, 'slow.test', now)
  assert.equal(taken, 6)
})

test('so many at once and no more: the next when one is done', () => {
  const gate = new DomainGate([limit('slow.test', 1_000, 3)])
  assert.equal(takeAll(gate, 'slow.test', 0), 3)
  assert.equal(gate.nextAt('slow.test'), Number.POSITIVE_INFINITY)
  gate.done('slow.test', 'fine', 0)
  gate.done('slow.test', 'unheard', 0)
  assert.equal(takeAll(gate, 'slow.test', 0), 2)
})

test('* is each other domain on its own', () => {
  const gate = new DomainGate([limit('free.test', 500), limit('*', 10, 1)])
  assert.equal(takeAll(gate, 'a.test', 0), 1)
  assert.equal(takeAll(gate, 'b.test', 0), 1)
  assert.equal(takeAll(gate, 'free.test', 0), 50)
})

test('asked to slow down several times in a row, a domain rests, then is tried by one alone, and rests longer each time', () => {
  const gate = new DomainGate()
  let now = 0
  for (let round = 0; round < 4; round++) gate.hear('busy.test', 'slow_down', now)
  assert.equal(gate.tryTake('busy.test', now), true)
  gate.done('busy.test', 'slow_down', now)
  const waits: number[] = []
  for (let round = 0; round < 8; round++) {
    assert.equal(gate.tryTake('busy.test', now), false)
    const opensAt = gate.nextAt('busy.test')
    // Those that were under way already say nothing new.
    gate.hear('busy.test', 'slow_down', now)
    assert.equal(gate.tryTake('busy.test', opensAt - 1), false)
    waits.push((opensAt - now) / 1000)
    now = opensAt
    assert.equal(takeAll(gate, 'busy.test', now), 1)
    assert.equal(takeAll(gate, 'other.test', now), 1_000)
    gate.done('busy.test', 'slow_down', now)
  }
  assert.deepEqual(waits, [30, 60, 120, 300, 900, 1_800, 1_800, 1_800])
})

test('a yes after a rest opens it again; after many of them it is trusted as before', () => {
  const gate = new DomainGate()
  for (let round = 0; round < 5; round++) gate.hear('busy.test', 'slow_down', 0)
  assert.equal(takeAll(gate, 'busy.test', 30_000), 1)
  gate.done('busy.test', 'fine', 30_000)
  assert.equal(takeAll(gate, 'busy.test', 30_000), 1_000)
  assert.ok(!gate.isOpen)
  for (let round = 0; round < 19; round++) gate.done('busy.test', 'fine', 30_000)
  assert.ok(gate.isOpen)
  assert.equal(takeAll(gate, 'busy.test', 30_000), 1_000)
})

test('those that are under way are counted for as long, whatever becomes of its trust in the meantime', () => {
  const gate = new DomainGate()
  for (let round = 0; round < 5; round++) gate.hear('busy.test', 'slow_down', 0)
  assert.ok(gate.tryTake('busy.test', 30_000) && gate.counts('busy.test'))
  gate.done('busy.test', 'fine', 30_000)
  // Three set out before it is trusted again, and come to their ends after it has fallen from grace once more.
  assert.equal([1, 2, 3].filter(() => gate.tryTake('busy.test', 30_000) && gate.counts('busy.test')).length, 3)
  for (let round = 0; round < 19; round++) gate.hear('busy.test', 'fine', 30_000)
  assert.ok(gate.isOpen)
  for (let round = 0; round < 5; round++) gate.hear('busy.test', 'slow_down', 40_000)
  assert.equal(takeAll(gate, 'busy.test', 70_000), 0)
  for (let left = 2; left >= 0; left--) {
    assert.equal(takeAll(gate, 'busy.test', 70_000), 0, `${left + 1} under way`)
    gate.done('busy.test', 'unheard', 70_000)
  }
  assert.equal(takeAll(gate, 'busy.test', 70_000), 1)
})

test('refusals with a yes between them are about messages, not about us', () => {
  const gate = new DomainGate()
  for (let round = 0; round < 20; round++) {
    for (let refused = 0; refused < 4; refused++) gate.hear('busy.test', 'slow_down', round)
    gate.hear('busy.test', 'fine', round)
  }
  assert.ok(gate.isOpen)
})

test('a clock that was set back does not make a rest longer', () => {
  const gate = new DomainGate()
  const day = 86_400_000
  for (let round = 0; round < 5; round++) gate.hear('busy.test', 'slow_down', day)
  assert.equal(gate.tryTake('busy.test', day), false)
  assert.equal(gate.tryTake('busy.test', 0), true)
})

test('what cannot be kept at hand gets places one after the other, as far as an hour ahead', () => {
  const gate = new DomainGate([limit('slow.test', 10)])
  const places = Array.from({ length: 50_000 }, () => gate.place('slow.test', 0))
  assert.deepEqual(places.slice(0, 3), [2_100, 2_200, 2_300])
  assert.equal(places.at(-1), 3_600_000)
  assert.ok(gate.place('slow.test', 1_000_000) > 3_600_000)
})

test('single mail goes first, and the others make up for it', () => {
  const gate = new DomainGate([limit('slow.test', 10)])
  for (let round = 0; round < 5; round++) gate.spend('slow.test', 0)
  assert.equal(gate.tryTake('slow.test', 400), false)
  assert.equal(gate.tryTake('slow.test', 500), true)
})

test('domains that came by once are forgotten', () => {
  const gate = new DomainGate([limit('*', 1_000)])
  const before = process.memoryUsage().heapUsed
  for (let index = 0; index < 200_000; index++) {
    const name = `domain-${index}.test`
    gate.tryTake(name, index * 100)
    gate.done(name, 'fine', index * 100)
  }
  assert.ok(process.memoryUsage().heapUsed - before < 50 * 1024 * 1024)
})

test('where servers are asked, a domain waits for room there: for the end of one of its own, or a moment', () => {
  const full = new Set<string>()
  const gate = new DomainGate([], { hasRoomFor: (domain) => !full.has(domain) })
  assert.ok(!gate.isOpen)
  assert.ok(gate.tryTake('a.test', 0))
  full.add('a.test').add('b.test')
  assert.ok(!gate.tryTake('a.test', 0) && !gate.tryTake('b.test', 0))
  assert.deepEqual([gate.nextAt('a.test'), gate.nextAt('b.test')], [Number.POSITIVE_INFINITY, 250])
  assert.equal(takeAll(gate, 'c.test', 0), 30, 'what has not come to its server yet does not show there')
  full.clear()
  gate.done('a.test', 'fine', 10)
  assert.ok(gate.tryTake('a.test', 10) && gate.tryTake('b.test', 10))
})

test('where servers are asked, what is put off gets times as far apart as its domain was seen to take', () => {
  const gate = new DomainGate([], { hasRoomFor: () => true })
  const paceOf = (domain: string, everyMs: number) => {
    takeAll(gate, domain, 0)
    for (let now = everyMs; now <= 100 * everyMs; now += everyMs) {
      gate.done(domain, 'fine', now)
      gate.tryTake(domain, now)
    }
    const [first, second] = [gate.place(domain, 100_000), gate.place(domain, 100_000)]
    return {
      everyMs: Math.round(second - first),
      startsAfter: Math.floor((first - 100_000) / 1_000),
      atHand: Math.round(gate.roomFor(domain) / 10) * 10,
    }
  }
  assert.deepEqual(paceOf('slow.test', 500), { everyMs: 500, startsAfter: 25, atHand: 50 })
  assert.deepEqual(paceOf('fast.test', 10), { everyMs: 10, startsAfter: 5, atHand: 500 })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DomainLimit } from '../../base/domain-limit.ts'
import type { Outcome } from '../transports/index.ts'
import type { Claimed } from './broadcast.ts'
import { DomainGate, domainOf } from './domain-gate.ts'
import { WaitingLine } from './waiting-line.ts'

const delivery = (email: string, broadcast_id = 'a') => ({ id: email, email, broadcast_id }) as unknown as Claimed
const several = (count: number, domain: string) => Array.from({ length: count }, (_, index) => delivery(`${index}@${domain}`))
const yes: Outcome = { kind: 'delivered', smtp_code: 250, response: 'ok' }
const slower: Outcome = { kind: 'deferred', smtp_code: 450, enhanced_code: '4.7.28', reason: 'later', detail: '' }

function lineWith(limits: DomainLimit[]) {
  let ms = 1_000_000
  const line = new WaitingLine(new DomainGate(limits), { now: () => new Date(ms) })
  const taken = new Map<string, Claimed>()
  const takeAll = (): string[] => {
    const emails: string[] = []
    for (let one = line.take(); one; one = line.take()) {
      taken.set(one.email, one)
      emails.push(one.email)
    }
    return emails
  }
  return { line, takeAll, taken: (email: string) => taken.get(email) as Claimed, pass: (more: number) => (ms += more), now: () => ms }
}

test('without limits it is a queue', () => {
  const { line, takeAll } = lineWith([])
  line.add([...several(2, 'a.test'), ...several(2, 'b.test')])
  const first = line.take() as Claimed
  line.putBack(first)
  assert.deepEqual(takeAll(), ['0@a.test', '1@a.test', '0@b.test', '1@b.test'])
  assert.ok(line.isEmpty)
})

test('those behind a domain that has to wait go on, and it goes when its time has come', () => {
  const { line, takeAll, pass } = lineWith([{ domain: 'slow.test', rate: 10, concurrency: null }])
  line.add([...several(3, 'slow.test'), ...several(3, 'fast.test')])
  assert.deepEqual(takeAll(), ['0@slow.test', '0@fast.test', '1@fast.test', '2@fast.test'])
  assert.deepEqual([line.length, line.isEmpty, line.waitMs], [0, false, 100])
  pass(100)
  assert.deepEqual(takeAll(), ['1@slow.test'])
  pass(50)
  assert.deepEqual(takeAll(), [])
  pass(50)
  assert.deepEqual(takeAll(), ['2@slow.test'])
  assert.deepEqual([line.isEmpty, line.waitMs], [true, null])
})

test('one that is full goes on when one of its own is done', () => {
  const { line, takeAll, taken } = lineWith([{ domain: '*', rate: 1_000, concurrency: 2 }])
  line.add([...several(4, 'a.test'), ...several(1, 'b.test')])
  assert.deepEqual(takeAll(), ['0@a.test', '1@a.test', '0@b.test'])
  line.done(taken('0@b.test'), yes)
  assert.deepEqual(takeAll(), [])
  line.done(taken('0@a.test'), yes)
  assert.deepEqual(takeAll(), ['2@a.test'])
  line.undo(taken('1@a.test'))
  assert.deepEqual(takeAll(), ['3@a.test'])
})

test('a domain that asks for less rests, while the others go on', () => {
  const { line, takeAll, taken, pass } = lineWith([])
  for (const one of several(5, 'busy.test')) line.done(one, slower)
  line.add([...several(3, 'busy.test'), ...several(2, 'fast.test')])
  assert.deepEqual(takeAll(), ['0@fast.test', '1@fast.test'])
  pass(30_000)
  assert.deepEqual(takeAll(), ['0@busy.test'])
  line.done(taken('0@busy.test'), yes)
  assert.deepEqual(takeAll(), ['1@busy.test', '2@busy.test'])
})

test('those that left before their domain had to wait are not taken for the one that is tried after its rest', () => {
  const { line, takeAll, taken, pass } = lineWith([])
  line.add(several(8, 'busy.test'))
  assert.equal(takeAll().length, 8)
  for (let number = 0; number < 5; number++) line.done(taken(`${number}@busy.test`), slower)
  line.add([delivery('a@busy.test'), delivery('b@busy.test')])
  assert.deepEqual(takeAll(), [])
  pass(30_000)
  assert.deepEqual(takeAll(), ['a@busy.test'])
  // No answer to any of these: they say nothing about the one on trial.
  for (let number = 5; number < 8; number++) line.undo(taken(`${number}@busy.test`))
  assert.deepEqual(takeAll(), [])
  line.done(taken('a@busy.test'), yes)
  assert.deepEqual(takeAll(), ['b@busy.test'])
})

test('broadcasts take turns, and one alone has all the room', () => {
  const { line, takeAll } = lineWith([])
  line.add([...several(3, 'a.test'), delivery('1@b.test', 'b'), delivery('2@b.test', 'b'), delivery('1@c.test', 'c')])
  const [a, other] = ['a', 'other'] as unknown as [Claimed['broadcast_id'], Claimed['broadcast_id']]
  assert.deepEqual([line.length, line.lengthOf(a), line.lengthOf(other)], [6, 3, 0])
  assert.deepEqual([line.shareOf(a, 3_000), line.shareOf(other, 3_000), line.shareOf(other, 30)], [1_000, 750, 200])
  assert.deepEqual(takeAll(), ['0@a.test', '1@b.test', '1@c.test', '1@a.test', '2@b.test', '2@a.test'])
  assert.equal(line.shareOf(a, 3_000), 3_000)
})

test('a clock that was set back holds nobody for as long', () => {
  const { line, takeAll, pass } = lineWith([])
  for (const one of several(5, 'busy.test')) line.done(one, slower)
  line.add(several(1, 'busy.test'))
  assert.deepEqual(takeAll(), [])
  pass(-900_000)
  pass(-1_000_000)
  assert.deepEqual(takeAll(), ['0@busy.test'])
})

test('what is more than a domain can take soon is put off, each to a time of its own, and counts as waiting until then', () => {
  const { line, takeAll, now } = lineWith([{ domain: 'slow.test', rate: 10, concurrency: null }])
  line.add(several(25, 'slow.test'))
  assert.equal(takeAll().length, 1)
  assert.deepEqual(
    line.surplus.map(({ delivery: { email }, at }) => [email, at.getTime() - now()]),
    [21, 22, 23, 24].map((number, index) => [`${number}@slow.test`, 2_100 + 100 * index]),
  )
  assert.equal(line.all().length, 24)
  line.forgetSurplus(4)
  assert.equal(line.all().length, 20)
})

test('what belongs to a broadcast that was stopped is taken out wherever it waits', () => {
  const { line, takeAll, pass } = lineWith([{ domain: 'slow.test', rate: 10, concurrency: null }])
  line.add([delivery('1@slow.test', 'a'), delivery('2@slow.test', 'b'), delivery('3@slow.test', 'a'), delivery('4@fast.test', 'b')])
  assert.deepEqual(takeAll(), ['1@slow.test', '4@fast.test'])
  line.add([delivery('5@fast.test', 'b')])
  assert.deepEqual(
    line.remove(({ broadcast_id }) => String(broadcast_id) === 'b').map(({ email }) => email),
    ['5@fast.test', '2@slow.test'],
  )
  pass(100)
  assert.deepEqual(takeAll(), ['3@slow.test'])
  assert.ok(line.isEmpty)
})

test('a window full of domains that wait is gone through once, not for each message', () => {
  const { line, takeAll, pass } = lineWith([{ domain: '*', rate: 1, concurrency: null }])
  const all = Array.from({ length: 2_000 }, (_, index) => delivery(`${index % 2}@domain-${index >> 1}.test`))
  line.add(all)
  assert.equal(takeAll().length, 1_000)
  for (let round = 0; round < 9; round++) {
    pass(100)
    assert.deepEqual(takeAll(), [])
  }
  pass(100)
  assert.equal(takeAll().length, 1_000)
  assert.ok(line.isEmpty)
})

test('domains are compared as DNS has them', () => {
  assert.equal(domainOf('a@Example.ORG'), 'example.org')
  assert.equal(domainOf('"a@b"@bücher.example'), 'xn--bcher-kva.example')
})

test('past those that may not go the others go, also within a domain that had to wait', () => {
  const { line, pass } = lineWith([{ domain: 'slow.test', rate: 10, concurrency: null }])
  line.add([delivery('1@slow.test', 'a'), delivery('2@slow.test', 'a'), delivery('3@slow.test', 'b'), delivery('4@fast.test', 'b')])
  const isOfB = ({ broadcast_id }: Claimed) => (broadcast_id as string) === 'b'
  assert.deepEqual([line.take(isOfB)?.email, line.take(isOfB)?.email, line.take(isOfB)], ['3@slow.test', '4@fast.test', undefined])
  line.add([delivery('5@slow.test', 'b')])
  assert.equal(line.take(), undefined)
  pass(100)
  assert.deepEqual([line.take(isOfB)?.email, line.take(isOfB)], ['5@slow.test', undefined])
  pass(100)
  assert.equal(line.take(isOfB), undefined, 'those that may not go take none of the room')
  assert.equal(line.take()?.email, '1@slow.test')
  pass(100)
  assert.equal(line.take()?.email, '2@slow.test')
  assert.ok(line.isEmpty)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { until } from '../../tests/support/until.ts'
import type { Log } from './log.ts'
import { startLoop } from './loop.ts'
import { wake } from './wake.ts'

const silent = () => {}
const log: Log = { debug: silent, info: silent, warn: silent, error: silent }
/** Longer than any test: what happens sooner was not the timer's doing. */
const never = 600_000

test('it goes on without rest for as long as there is more, then waits', async () => {
  let steps = 0
  const loop = startLoop({ name: 'test', log, on: 'events', everyMs: never, step: async () => ++steps < 5 })
  await until('five steps', () => steps === 5)
  await nextTurn()
  assert.equal(steps, 5)
  await loop.stop()
  assert.equal(steps, 5)
})

test('a wake rouses it at once, another kind of wake does not', async () => {
  let steps = 0
  const loop = startLoop({ name: 'test', log, on: 'messages', everyMs: never, step: async () => ++steps < 0 })
  await until('the first step', () => steps === 1)
  wake('events')
  await nextTurn()
  assert.equal(steps, 1)
  wake('messages')
  await until('the second step', () => steps === 2, { withinMs: 500 })
  await loop.stop()
})

test('a wake that comes while a step is under way is not lost', async () => {
  let steps = 0
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
  const loop = startLoop({
    name: 'test',
    log,
    on: 'events',
    everyMs: never,
    step: async () => {
      if (++steps === 1) await held
      return false
    },
  })
  wake('events')
  letGo()
  await until('the second step', () => steps === 2, { withinMs: 500 })
  await loop.stop()
})

test('without a wake it looks by itself', async () => {
  let steps = 0
  const loop = startLoop({ name: 'test', log, on: 'events', everyMs: 5, step: async () => ++steps < 0 })
  await until('three steps', () => steps >= 3, { withinMs: 1_000 })
  await loop.stop()
})

test('an error is logged and the work tried again, after a rest', async () => {
  const warnings: unknown[] = []
  let steps = 0
  const loop = startLoop({
    name: 'the loop’s name',
    log: { ...log, warn: (about: unknown) => warnings.push(about) } as Log,
    on: 'events',
    everyMs: 5,
    step: async () => {
      if (++steps < 3) throw new Error(`no ${steps}`)
      return false
    },
  })
  await until('the third step', () => steps >= 3)
  await loop.stop()
  assert.deepEqual(warnings, [
    { loop: 'the loop’s name', reason: 'no 1' },
    { loop: 'the loop’s name', reason: 'no 2' },
  ])
})

test('a step that throws before it returns a promise does not end the loop either', async () => {
  let steps = 0
  const step = (): Promise<boolean> => {
    if (++steps === 1) throw new Error('at once')
    return Promise.resolve(false)
  }
  const loop = startLoop({ name: 'test', log, on: 'events', everyMs: 5, step })
  await until('the second step', () => steps >= 2, { withinMs: 1_000 })
  await loop.stop()
})

test('stop waits for the step under way, and no further one begins', async () => {
  let steps = 0
  let isDone = false
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
  const loop = startLoop({
    name: 'test',
    log,
    on: 'events',
    everyMs: 1,
    step: async () => {
      steps++
      await held
      isDone = true
      return true
    },
  })
  let isStopped = false
  const stopping = loop.stop().then(() => {
    isStopped = true
  })
  await nextTurn()
  assert.equal(isStopped, false)
  letGo()
  await stopping
  wake('events')
  await nextTurn()
  assert.deepEqual({ steps, isDone }, { steps: 1, isDone: true })
})

test('with a pause, however often it is roused meanwhile, one step follows it; the end does not wait for it', async () => {
  let steps = 0
  const loop = startLoop({ name: 'test', log, on: 'events', everyMs: never, pauseMs: 20, step: async () => ++steps < 0 })
  await until('the first step', () => steps === 1)
  for (let count = 0; count < 10; count++) {
    wake('events')
    await nextTurn()
  }
  assert.equal(steps, 1)
  await until('the second step', () => steps === 2, { withinMs: 500 })
  await loop.stop()
  assert.equal(steps, 2)

  const slow = startLoop({ name: 'test', log, on: 'events', everyMs: never, pauseMs: never, step: async () => ++steps < 0 })
  await until('its step', () => steps === 3)
  await slow.stop()
})

test('a step is told whether anybody has roused the loop in the time after which it looks by itself', async () => {
  const told: boolean[] = []
  const loop = startLoop({ name: 'test', log, on: 'messages', everyMs: 50, step: async (isRoused) => told.push(isRoused) < 0 })
  await until('it looked by itself', () => told.length >= 2)
  assert.ok(told.every((isRoused) => !isRoused))
  wake('messages')
  await until('it was roused', () => told.at(-1))
  await until('that is over', () => told.at(-1) === false)
  await loop.stop()
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { together } from './together.ts'

/** Work that is under way until it is let go, and notes what it was given. */
function heldWork() {
  const batches: string[][] = []
  const gates: (() => void)[] = []
  const work = async (items: string[]): Promise<string[]> => {
    batches.push(items)
    await new Promise<void>((resolve) => gates.push(resolve))
    if (items.includes('bad')) throw new Error('bad')
    if (items.includes('lost')) throw new Error('lost')
    return items.map((item) => item.toUpperCase())
  }
  /** Lets go until nothing is under way. */
  const letGo = async () => {
    for (let open = gates.shift(); open; open = gates.shift()) {
      open()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { batches, work, letGo }
}
const isOfAll = (error: unknown) => (error as Error).message === 'lost'

test('one that comes alone goes at once; those that come meanwhile go in one batch, in their order', async () => {
  const { batches, work, letGo } = heldWork()
  const go = together(work, { most: 10, isOfAll })
  const first = go('a')
  assert.deepEqual(batches, [['a']])
  const others = [go('b'), go('c'), go('d')]
  assert.deepEqual(batches, [['a']])
  await letGo()
  assert.deepEqual(await Promise.all([first, ...others]), ['A', 'B', 'C', 'D'])
  assert.deepEqual(batches, [['a'], ['b', 'c', 'd']])
  const later = go('e')
  assert.deepEqual(batches.at(-1), ['e'])
  await letGo()
  assert.equal(await later, 'E')
})

test('no batch is larger than it may be', async () => {
  const { batches, work, letGo } = heldWork()
  const go = together(work, { most: 2, isOfAll })
  const all = ['a', 'b', 'c', 'd', 'e', 'f'].map(go)
  await letGo()
  assert.deepEqual(await Promise.all(all), ['A', 'B', 'C', 'D', 'E', 'F'])
  assert.deepEqual(batches, [['a'], ['b', 'c'], ['d', 'e'], ['f']])
})

test('an error belongs to its owner: the others of the batch are done alone', async () => {
  const { batches, work, letGo } = heldWork()
  const go = together(work, { most: 10, isOfAll })
  const all = Promise.allSettled(['a', 'b', 'bad', 'c'].map(go))
  await letGo()
  assert.deepEqual(
    (await all).map((one) => (one.status === 'fulfilled' ? one.value : (one.reason as Error).message)),
    ['A', 'B', 'bad', 'C'],
  )
  assert.deepEqual(batches, [['a'], ['b', 'bad', 'c'], ['b'], ['bad'], ['c']])
})

test('what is nobody’s own fault fails for all of the batch, and is not tried again', async () => {
  const { batches, work, letGo } = heldWork()
  const go = together(work, { most: 10, isOfAll })
  const all = Promise.allSettled(['a', 'b', 'lost'].map(go))
  await letGo()
  assert.deepEqual(
    (await all).map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected'],
  )
  assert.deepEqual(batches, [['a'], ['b', 'lost']])
  const later = go('d')
  await letGo()
  assert.equal(await later, 'D')
})

test('lines do not wait for each other', async () => {
  const { batches, work, letGo } = heldWork()
  const go = together(work, { most: 10, isOfAll, lineOf: (item) => item.slice(0, 1) })
  const all = ['a1', 'b1', 'a2', 'b2', 'a3'].map(go)
  assert.deepEqual(batches, [['a1'], ['b1']])
  await letGo()
  assert.deepEqual(await Promise.all(all), ['A1', 'B1', 'A2', 'B2', 'A3'])
  assert.deepEqual(batches, [['a1'], ['b1'], ['a2', 'a3'], ['b2']])
})

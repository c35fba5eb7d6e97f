import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PassingMap } from './passing-map.ts'

test('things are found by their keys, in the order they came, until they leave', () => {
  const map = new PassingMap<string, { size: number }>()
  for (const [index, key] of ['one', 'two', 'three'].entries()) map.set(key, { size: index })
  assert.deepEqual([map.size, map.has('two'), map.get('two'), map.get('four')], [3, true, { size: 1 }, undefined])
  assert.deepEqual([map.delete('two'), map.delete('two'), map.has('two'), map.get('two')], [true, false, false, undefined])
  assert.deepEqual(
    [[...map.keys()], [...map.values()]],
    [
      ['one', 'three'],
      [{ size: 0 }, { size: 2 }],
    ],
  )
  for (const key of map.keys()) map.delete(key)
  assert.equal(map.size, 0)
  map.set('five', { size: 5 })
  map.clear()
  assert.equal(map.size, 0)
})

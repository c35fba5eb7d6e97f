import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ByteCache } from './byte-cache.ts'

test('what was used last stays, up to so many bytes', () => {
  const cache = new ByteCache<string>(1_000)
  for (const key of 'abcdefghi') cache.put(key, key, 100)
  assert.equal(cache.get('a'), 'a')
  cache.put('j', 'j', 100)
  assert.deepEqual([...'abcdefghij'].map((key) => cache.get(key) !== undefined).map(Number), [1, 0, 1, 1, 1, 1, 1, 1, 1, 1])
  assert.ok(cache.bytes <= 1_000)
})

test('what is put again takes the place of what was there', () => {
  const cache = new ByteCache<string>(1_000)
  for (let time = 0; time < 50; time++) cache.put('a', String(time), 100)
  assert.equal(cache.get('a'), '49')
  assert.equal(cache.bytes, 102)
  cache.delete('a')
  cache.delete('a')
  assert.deepEqual([cache.get('a'), cache.bytes], [undefined, 0])
})

test('what is too large is not kept, and takes what was there with it', () => {
  const cache = new ByteCache<string>(1_000)
  cache.put('a', 'small', 50)
  cache.put('a', 'large', 500)
  assert.deepEqual([cache.get('a'), cache.bytes], [undefined, 0])
})

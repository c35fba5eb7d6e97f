import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LastingWrites } from './lasting-writes.ts'
import { createLog } from './log.ts'

const about = { log: createLog('silent'), about: {} }

test('what cannot be written is tried until it is, and later tries know that they are', async () => {
  const tries: boolean[] = []
  const written = await new LastingWrites().write(async (isRepeat) => {
    tries.push(isRepeat)
    if (tries.length < 4) throw new Error('away')
    return 'written'
  }, about)
  assert.equal(written, 'written')
  assert.deepEqual(tries, [false, true, true, true])
})

test('a process that ends tries for a bounded time, also what begins only then, and once in any case', async () => {
  const writes = new LastingWrites()
  let tries = 0
  const never = async () => {
    tries++
    throw new Error(`away ${tries}`)
  }
  const begun = writes.write(never, about)
  writes.endWithin(400)
  await assert.rejects(begun, /away/)
  await assert.rejects(writes.write(never, about), /away/)
  writes.endWithin(0)
  tries = 0
  await assert.rejects(writes.write(never, about), /away 1/)
  assert.equal(await writes.write(async () => 'written', about), 'written')
})

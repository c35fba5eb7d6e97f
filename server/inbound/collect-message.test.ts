import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { collectMessage } from './collect-message.ts'
import { createMessageMemory, usualSize } from './message-memory.ts'

const header = 'Received: here\r\n'
const place = (buffers: number) => ({ header, maxBytes: 4 * usualSize, memory: createMessageMemory(buffers * usualSize), peer: null })

/** How many buffers of the usual size there is room for now. */
function roomIn({ memory }: ReturnType<typeof place>): number {
  const taken = []
  for (let buffer = memory.take(1, null); buffer; buffer = memory.take(1, null)) taken.push(buffer)
  for (const buffer of taken) memory.give(buffer, null)
  return taken.length
}

test('a whole message has our line on top and its line ends mended, and holds its place until it is released', async () => {
  const here = place(2)
  const stream = new PassThrough()
  const collecting = collectMessage(stream, here)
  stream.write('a\nb')
  stream.end('\r')
  const collected = await collecting
  assert.ok(collected.kind === 'whole')
  assert.equal(collected.raw.toString(), `${header}a\r\nb\r\n`)
  assert.equal(roomIn(here), 1)
  collected.release()
  collected.release()
  assert.equal(roomIn(here), 2)
})

test('a message grows out of its place into a larger one, up to the last byte that is allowed', async () => {
  for (const length of [usualSize - header.length, usualSize, 2 * usualSize + 1, 4 * usualSize]) {
    const here = place(12)
    const stream = new PassThrough()
    const bytes = Buffer.alloc(length, 'abcdefghi')
    const collecting = collectMessage(stream, here)
    for (let at = 0; at < length; at += 5_000) stream.write(bytes.subarray(at, at + 5_000))
    stream.end()
    const collected = await collecting
    assert.ok(collected.kind === 'whole')
    assert.ok(collected.raw.equals(Buffer.concat([Buffer.from(header), bytes])), String(length))
    collected.release()
    assert.equal(roomIn(here), 12)
  }
})

test('the limit counts what is stored, also what line ends have added', async () => {
  const here = place(12)
  const stream = new PassThrough()
  stream.end('\n'.repeat(2 * usualSize + 1))
  const collected = await collectMessage(stream, here)
  assert.equal(collected.kind === 'refused' && collected.refusal.enhanced, '5.3.4')
  assert.equal(roomIn(here), 12)
})

test('without room a message is let go, and the rest of it is read and dropped', async () => {
  const here = place(2)
  const stream = new PassThrough()
  const collecting = collectMessage(stream, here)
  for (let part = 0; part < 20; part++) stream.write('x'.repeat(5_000))
  stream.end()
  const collected = await collecting
  assert.equal(collected.kind === 'refused' && collected.refusal.enhanced, '4.3.1')
  assert.equal(roomIn(here), 2)
})

test('a peer that leaves in the middle leaves nothing behind', async () => {
  const here = place(2)
  const stream = new PassThrough()
  const collecting = collectMessage(stream, here)
  stream.write('x'.repeat(30))
  await new Promise(setImmediate)
  stream.destroy(new Error('gone'))
  assert.deepEqual(await collecting, { kind: 'gone' })
  assert.equal(roomIn(here), 2)
})

test('one peer takes half of the room at most, and gets it back', () => {
  const memory = createMessageMemory(8 * usualSize)
  const takeAll = (peer: string | null) => {
    const taken: Buffer[] = []
    for (let buffer = memory.take(1, peer); buffer; buffer = memory.take(1, peer)) taken.push(buffer)
    return taken
  }
  const greedy = takeAll('192.0.2.1')
  assert.equal(greedy.length, 4)
  assert.equal(takeAll('192.0.2.2').length, 4)
  assert.equal(memory.isFull(), true)
  for (const buffer of greedy) memory.give(buffer, '192.0.2.1')
  assert.equal(takeAll('192.0.2.1').length, 4)
})

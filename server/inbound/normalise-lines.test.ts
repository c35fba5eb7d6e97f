import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLineNormaliser } from './normalise-lines.ts'

function normalise(...chunks: (string | Buffer)[]): string {
  const lines = createLineNormaliser()
  const pieces = chunks.flatMap((chunk) => lines.push(typeof chunk === 'string' ? Buffer.from(chunk, 'latin1') : chunk))
  return Buffer.concat([...pieces, ...lines.end()]).toString('latin1')
}

const table: [given: string, expected: string][] = [
  ['', ''],
  ['a\r\nb\r\n', 'a\r\nb\r\n'],
  ['a\nb', 'a\r\nb'],
  ['a\rb', 'a\r\nb'],
  ['a\r', 'a\r\n'],
  ['\n', '\r\n'],
  ['\r\r\n', '\r\n\r\n'],
  ['\r\n\n', '\r\n\r\n'],
  ['\n\r', '\r\n\r\n'],
  ['\n\r\n', '\r\n\r\n'],
  ['\r\r\r', '\r\n\r\n\r\n'],
  ['a\n.\nb', 'a\r\n.\r\nb'],
  ['a\r.\rb', 'a\r\n.\r\nb'],
  ['a\0b\xff\r\n', 'a\0b\xff\r\n'],
]

test('a CR or LF that stands alone becomes CRLF, and nothing else changes', () => {
  for (const [given, expected] of table) assert.equal(normalise(given), expected, JSON.stringify(given))
})

test('where the chunks are cut makes no difference', () => {
  for (const [given, expected] of table) {
    assert.equal(normalise(...given), expected, `byte by byte: ${JSON.stringify(given)}`)
    for (let at = 0; at <= given.length; at++)
      assert.equal(normalise(given.slice(0, at), given.slice(at)), expected, `${at}: ${JSON.stringify(given)}`)
  }
})

test('a chunk without faults is not copied', () => {
  const chunk = Buffer.from('one\r\ntwo\r\n')
  assert.deepEqual(createLineNormaliser().push(chunk), [chunk])
})

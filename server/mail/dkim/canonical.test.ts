import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { bodyHash, readFields, relaxedBody } from './canonical.ts'

/** Written and relaxed, as RFC 6376 section 3.4.4 has it; the second to last is its own example (3.4.5). */
const bodies: [body: string, relaxed: string][] = [
  ['', ''],
  ['\r\n', ''],
  ['\r\n\r\n\r\n', ''],
  [' \t \r\n \r\n', ''],
  ['x', 'x\r\n'],
  ['x\r\n', 'x\r\n'],
  ['x\r\n\r\n\r\n', 'x\r\n'],
  ['x\r\n \r\n\t\r\n', 'x\r\n'],
  ['x  ', 'x\r\n'],
  ['\r\nx', '\r\nx\r\n'],
  ['a  b\t\tc \t d\r\n', 'a b c d\r\n'],
  ['  indented\r\n', ' indented\r\n'],
  ['a\r\n\r\n\r\nb\r\n', 'a\r\n\r\n\r\nb\r\n'],
  ['bare\nLF and\rCR \r\n', 'bare\nLF and\rCR\r\n'],
  ['x\r', 'x\r\r\n'],
  ['x\n', 'x\n\r\n'],
  ['x\n\r\n', 'x\n\r\n'],
  ['\n\r\n', '\n\r\n'],
  [' C \r\nD \t E\r\n\r\n\r\n', ' C\r\nD E\r\n'],
  ['é\u00a0 \r\n', 'é\u00a0\r\n'],
]

for (const [body, relaxed] of bodies) {
  test(`the body ${JSON.stringify(body)} is hashed as ${JSON.stringify(relaxed)}`, () => {
    assert.equal(relaxedBody(Buffer.from(body)).toString(), relaxed)
    assert.equal(bodyHash(Buffer.from(body), { isRelaxed: false }), createHash('sha256').update(relaxed).digest('base64'))
    assert.equal(bodyHash(Buffer.from(relaxed), { isRelaxed: true }), createHash('sha256').update(relaxed).digest('base64'))
  })
}

test('the empty body has the hash that the RFC’s errata give', () => {
  assert.equal(bodyHash(Buffer.alloc(0), { isRelaxed: false }), '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=')
})

test('bodies of chance have the same hash whether they are relaxed already or not', () => {
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed % below
  }
  const alphabet = [' ', '\t', '\r\n', '\r\n\r\n', '\n', '\r', 'a', 'bc', '.', 'é']
  for (let round = 0; round < 5000; round++) {
    const body = Buffer.from(Array.from({ length: random(40) }, () => alphabet[random(alphabet.length)]).join(''))
    const relaxed = relaxedBody(body)
    assert.deepEqual(relaxedBody(relaxed), relaxed)
    const hash = createHash('sha256').update(relaxed).digest('base64')
    assert.equal(bodyHash(body, { isRelaxed: false }), hash)
    for (const end of ['', '\r\n', '\r\n\r\n'])
      assert.equal(bodyHash(Buffer.concat([relaxed, Buffer.from(end)]), { isRelaxed: true }), hash)
  }
})

test('header fields are unfolded and trimmed (RFC 6376 section 3.4.5)', () => {
  const fields = readFields(Buffer.from('A: X\r\nB : Y\t\r\n\tZ  \r\nC:\r\n folded\r\n  twice \r\nD:\r\n'))
  assert.deepEqual(
    fields.map(({ relaxed }) => relaxed),
    ['a:X', 'b:Y Z', 'c:folded twice', 'd:'],
  )
})

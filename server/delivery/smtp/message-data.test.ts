import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finalDot, toWire } from './message-data.ts'

const onWire = (text: string, isDotSafe = false) => {
  const parts = toWire([Buffer.from(text, 'latin1')], isDotSafe)
  return Buffer.concat(parts).toString('latin1') + finalDot(parts)
}

const table: [message: string, wire: string][] = [
  ['a\r\n', 'a\r\n.\r\n'],
  ['a', 'a\r\n.\r\n'],
  ['', '.\r\n'],
  ['\r\n', '\r\n.\r\n'],
  ['.', '..\r\n.\r\n'],
  ['.\r\n', '..\r\n.\r\n'],
  ['..\r\n', '...\r\n.\r\n'],
  ['a\r\n.b\r\n', 'a\r\n..b\r\n.\r\n'],
  ['a.\r\nb.c\r\n', 'a.\r\nb.c\r\n.\r\n'],
  ['a\nb\n', 'a\r\nb\r\n.\r\n'],
  ['a\rb\r', 'a\r\nb\r\n.\r\n'],
  ['a\r\r\nb', 'a\r\n\r\nb\r\n.\r\n'],
  ['a\n\rb', 'a\r\n\r\nb\r\n.\r\n'],
  ['a\r', 'a\r\n.\r\n'],
  ['ü\xff\0\n', 'ü\xff\0\r\n.\r\n'],
]

for (const [message, wire] of table)
  test(`${JSON.stringify(message)} goes out as ${JSON.stringify(wire)}`, () => assert.equal(onWire(message), wire))

const lineEnds = ['\r\n', '\n', '\r', '\r\r\n', '\n\r']
test('no end of a line before or after a dot ends the data early', () => {
  for (const before of lineEnds) {
    for (const after of lineEnds) {
      const wire = onWire(`a${before}.${after}MAIL FROM:<eve@example.net>\r\n`)
      assert.equal(wire.replace(/\r\n/g, '').search(/[\r\n]/), -1, 'nothing but CRLF')
      assert.equal(wire.search(/(^|[\r\n])\.[\r\n]/), wire.length - 4, JSON.stringify(wire))
    }
  }
})

test('what needs no change is not copied, and what is known to be safe not even looked at', () => {
  const parts = [Buffer.from('Subject: x\r\n'), Buffer.from('\r\nHello\r\n')]
  assert.equal(toWire(parts, false), parts)
  const odd = [Buffer.from('.')]
  assert.equal(toWire(odd, true), odd)
})

test('a line end or a dot between two parts is seen', () => {
  const wire = (...pieces: string[]) => {
    const parts = toWire(
      pieces.map((piece) => Buffer.from(piece)),
      false,
    )
    return Buffer.concat(parts).toString() + finalDot(parts)
  }
  assert.equal(wire('a\r\n', '.b'), 'a\r\n..b\r\n.\r\n')
  assert.equal(wire('a\r', '\n', 'b\r', '\n'), 'a\r\nb\r\n.\r\n')
  assert.equal(wire('a\r', 'b', '\n', ''), 'a\r\nb\r\n.\r\n')
})

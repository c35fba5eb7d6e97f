import assert from 'node:assert/strict'
import { test } from 'node:test'
import { relaxedBody } from '../dkim/canonical.ts'
import { encodeQuotedPrintable, encodeValue } from './quoted-printable.ts'

const decode = (encoded: string) =>
  Buffer.from(
    encoded.replace(/=\r\n/g, '').replace(/=([\dA-F]{2})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16))),
    'latin1',
  ).toString()

function check(text: string): void {
  for (const encoded of [encodeQuotedPrintable(text).toString('latin1'), encodeValue(text)]) {
    assert.equal(
      decode(encoded),
      text
        .toWellFormed()
        .replaceAll('\0', '')
        .replace(/\r\n|\r|\n/g, '\r\n'),
    )
    assert.match(encoded, /^[ -~\r\n]*$/)
    for (const line of encoded.split('\r\n')) {
      assert.ok(line.length <= 76)
      assert.doesNotMatch(line, /^\.|^From | $| {2}/)
    }
    const closed = Buffer.from(`${encoded}=\r\nx\r\n`)
    assert.deepEqual(relaxedBody(closed), closed, 'its own relaxed form')
  }
}

for (const text of [
  '',
  '.',
  '..',
  'From here',
  'From',
  ' ',
  '  ',
  '   leading and   trailing   ',
  '\t',
  'a\tb',
  'a \nb\t\r\nc\rd',
  '\n\n\n',
  '=',
  '=3D',
  'é',
  '👋'.repeat(100),
  '\ud800',
  '\0',
  `${'x'.repeat(75)}.`,
  `${'x'.repeat(75)}From here`,
  'x'.repeat(75),
  'x'.repeat(76),
  ' x'.repeat(200),
  '.\n.\nFrom \n',
]) {
  test(`${JSON.stringify(text.slice(0, 30))} is encoded and comes back`, () => check(text))
}

test('texts of chance come back', () => {
  let seed = 42
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed % below
  }
  const alphabet = [' ', '  ', '\n', '\r\n', '\t', '.', '=', 'From ', 'a', 'word', 'é', '👋', '\0', '\u007f', '-', '--']
  for (let round = 0; round < 3000; round++) check(Array.from({ length: random(200) }, () => alphabet[random(alphabet.length)]).join(''))
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findCandidates } from './candidates.ts'
import { documentOfText } from './document.ts'

test('words that are too long for a code are no candidates, and hide none, but for what they belong to', () => {
  const expected: [text: string, found: string[]][] = [
    ['ABCDEFGHIJ', ['ABCDEFGHIJ']],
    ['ABCDEFGHIJK', []],
    ['A2CDEFGHIJ', ['A2CDEFGHIJ']],
    ['A2CDEFGHIJK', []],
    ['abcdefghijkl4829', []],
    ['4829abcdefghijkl', []],
    ['ABCDEFGHIJKLMNOP 4829', ['4829']],
    ['4829\n1YYYYYYYYYYYYYYY\n4830', ['4829', '4830']],
    // Digits beside digits are one number, however long.
    ['1234 12345678901 5678', []],
    ['4829-ABCDEFGHIJKL', []],
    ['ABCDEFGHIJKL-482913', []],
    // What a dash joins is one thing; the rest stands alone.
    ['ABCDEFGHIJKL-4829 1234', ['1234']],
    ['ABCDEFGHIJKL-12 345 678', ['345678']],
  ]
  for (const [text, found] of expected)
    assert.deepEqual(
      findCandidates(documentOfText(text)).map(({ value }) => value),
      found,
      text,
    )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fold, plainText } from './fold.ts'
import { PhraseFinder } from './phrase-finder.ts'

const finder = new PhraseFinder([
  ['code', 1],
  ['code promo', 2],
  ['réinitialis*', 3],
  ['验证码', 4],
  ['sign-in', 5],
])
const found = (text: string) => finder.find(fold(plainText(text))).map(({ value }) => value)

test('the longest phrase at a place wins, on whole words, in any case and with or without accents', () => {
  assert.deepEqual(found('Code'), [1])
  assert.deepEqual(found('codes, barcode, Code-Promo'), [2])
  assert.deepEqual(found('REINITIALISEZ'), [3])
  assert.deepEqual(found('re\u0301initialisation'), [3])
  assert.deepEqual(found('您的验证码1234'), [4])
  assert.deepEqual(found('sign in, sign-in, sign\nin, sign‑in'), [5, 5, 5, 5])
  assert.deepEqual(found(''), [])
})

test('folding keeps every letter in its place', () => {
  for (const text of ['ÀÉß İ Straße', 'ＡＢＣ－１２３', '𝟒𝟖 ｶﾞ', 'naïve\r\n\r\n\r\n  word'])
    assert.equal(fold(plainText(text)).length, plainText(text).length, text)
  assert.equal(plainText('ＡＢＣ－１２３，𝟒𝟖'), 'ABC-123，48')
})

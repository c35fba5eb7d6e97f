import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accentOn, contrast, papers, parse } from './colours.ts'

const ratio = (one: string, other: string) => contrast(parse(one), parse(other))

test('contrast is what WCAG says', () => {
  assert.equal(ratio('#000000', '#ffffff').toFixed(2), '21.00')
  assert.equal(ratio('#777777', '#ffffff').toFixed(2), '4.48')
  assert.equal(ratio('#ffffff', '#ffffff'), 1)
})

test('whatever colour a list has, it can be read on the page and on cards, and buttons can be read', () => {
  for (let number = 0; number < 0x1000; number++) {
    const wanted = `#${[...number.toString(16).padStart(3, '0')].map((digit) => digit + digit).join('')}`
    for (const theme of ['light', 'dark'] as const) {
      const { accent, onAccent } = accentOn(theme, wanted)
      for (const behind of [papers[theme].paper, papers[theme].card])
        assert.ok(ratio(accent, behind) >= 4.5, `${wanted} ${theme}: ${accent}`)
      assert.ok(ratio(accent, onAccent) >= 4.5, `${wanted} ${theme}: ${onAccent} on ${accent}`)
    }
  }
})

test('a colour that can be read is left as it is', () => {
  assert.equal(accentOn('light', '#b4451f').accent, '#b4451f')
  assert.equal(accentOn('dark', '#8aa8ff').accent, '#8aa8ff')
})

test('one that cannot is moved no further than it must be, and stays as strong as it was', () => {
  assert.deepEqual(accentOn('dark', '#b4451f'), { accent: '#dd6339', onAccent: '#111014' })
  assert.deepEqual(accentOn('light', '#ffff00'), { accent: '#6c6c00', onAccent: '#ffffff' })
  assert.equal(accentOn('dark', '#000000').accent, '#868686')
})

test('the edges of fields and buttons can be seen (WCAG 2.2, 1.4.11)', () => {
  for (const { paper, card, edge } of Object.values(papers))
    for (const behind of [paper, card]) assert.ok(ratio(edge, behind) >= 3, `${edge} on ${behind}: ${ratio(edge, behind)}`)
})

test('text can be read on every paper', () => {
  for (const { paper, card, ink, soft } of Object.values(papers))
    for (const behind of [paper, card]) for (const text of [ink, soft]) assert.ok(ratio(text, behind) >= 4.5)
})

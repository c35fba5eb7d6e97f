import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reservedNames, slugOf } from '../../base/slug.ts'
import { adjectives, animals, makeNumberedName, makeReadableName } from './readable-name.ts'

test('there are at least 150 words of each kind, short, in plain letters, and none twice', () => {
  for (const words of [adjectives, animals]) {
    assert.ok(words.length >= 150, `${words.length}`)
    assert.equal(new Set(words).size, words.length, words.filter((word, index) => words.indexOf(word) !== index).join())
    for (const word of words) assert.match(word, /^[a-z]{2,13}$/)
  }
})

test('a name is an adjective and an animal, a slug as it stands, and belongs to nobody else', () => {
  for (let time = 0; time < 1_000; time++) {
    const name = makeReadableName()
    const [adjective, animal, ...rest] = name.split('-') as [string, string]
    assert.ok(adjectives.includes(adjective) && animals.includes(animal) && rest.length === 0, name)
    assert.equal(slugOf(name), name)
    assert.ok(!reservedNames.has(name))
    assert.match(makeNumberedName(), /^[a-z]+-[a-z]+-[1-9][0-9]{1,3}$/)
  }
})

test('names differ', () => {
  assert.ok(new Set(Array.from({ length: 200 }, makeReadableName)).size > 180)
})

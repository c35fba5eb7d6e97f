import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatId, idOf, lowestIdSince, newId, parseId } from './ids.ts'

/** From the TypeID specification, with a prefix of ours. */
const vectors = [
  ['00000000-0000-0000-0000-000000000000', '00000000000000000000000000'],
  ['00000000-0000-0000-0000-000000000001', '00000000000000000000000001'],
  ['00000000-0000-0000-0000-00000000000a', '0000000000000000000000000a'],
  ['00000000-0000-0000-0000-000000000010', '0000000000000000000000000g'],
  ['00000000-0000-0000-0000-000000000020', '00000000000000000000000010'],
  ['ffffffff-ffff-ffff-ffff-ffffffffffff', '7zzzzzzzzzzzzzzzzzzzzzzzzz'],
  ['0110c853-1d09-52d8-d73e-1194e95b5f19', '0123456789abcdefghjkmnpqrs'],
  ['01890a5d-ac96-774b-bcce-b302099a8057', '01h455vb4pex5vsknk084sn02q'],
] as const

test('ids are the TypeIDs of the specification, both ways', () => {
  for (const [uuid, letters] of vectors) {
    assert.equal(formatId('lst', uuid), `lst_${letters}`)
    assert.equal(parseId('lst', `lst_${letters}`), uuid)
  }
})

test('what is not an id of that kind is none', () => {
  const letters = '01h455vb4pex5vsknk084sn02q'
  const wrong = [
    '',
    'lst',
    'lst_',
    letters,
    `sub_${letters}`,
    `lst_${letters.slice(1)}`,
    `lst_${letters}0`,
    `LST_${letters}`,
    `lst_${letters.toUpperCase()}`,
    `lst-${letters}`,
    // More than 128 bits, the letters that Crockford leaves out, and what only looks like a letter.
    'lst_8zzzzzzzzzzzzzzzzzzzzzzzzz',
    `lst_${letters.slice(0, -1)}i`,
    `lst_${letters.slice(0, -1)}l`,
    `lst_${letters.slice(0, -1)}o`,
    `lst_${letters.slice(0, -1)}u`,
    `lst_${letters.slice(0, -1)}é`,
    `lst_${letters.slice(0, -1)}\0`,
    ` lst_${letters.slice(0, -1)}`,
    '01890a5d-ac96-774b-bcce-b302099a8057',
  ]
  for (const text of wrong) assert.equal(parseId('lst', text), null, JSON.stringify(text))
  assert.equal(parseId('post', `post_${letters}`), '01890a5d-ac96-774b-bcce-b302099a8057')
})

test('the schema takes and gives exactly what parse and format do', () => {
  const schema = idOf('lst')
  for (const [uuid, letters] of vectors) {
    assert.equal(schema.parse(`lst_${letters}`), uuid)
    assert.equal(schema.encode(uuid as never), `lst_${letters}`)
  }
  for (const text of ['lst_8zzzzzzzzzzzzzzzzzzzzzzzzz', 'sub_01h455vb4pex5vsknk084sn02q', 'lst_01h455vb4pex5vsknk084sn02q\n', '', 5, null])
    assert.equal(schema.safeParse(text).success, false, JSON.stringify(text))
})

test('a hundred thousand ids are all different, in order in both forms, and made of the time', () => {
  const before = Date.now()
  const ids = Array.from({ length: 100_000 }, () => newId<'lst'>())
  const texts = ids.map((id) => formatId('lst', id))
  assert.equal(new Set(ids).size, ids.length)
  assert.deepEqual(ids, [...ids].sort())
  assert.deepEqual(texts, [...texts].sort())
  for (const [index, id] of ids.entries()) {
    if (index % 997 === 0) assert.equal(parseId('lst', texts[index] as string), id)
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  }
  // More than 4,096 in a millisecond borrow from the ones to come, never from the past.
  const timeOf = (id: string) => Number.parseInt(id.replace('-', '').slice(0, 12), 16)
  assert.ok(timeOf(ids[0] as string) >= before)
  assert.ok(timeOf(ids.at(-1) as string) <= Date.now() + 100_000 / 4096)
})

test('an id tells when it was made: before or since a moment', () => {
  const before = newId() as string
  const moment = new Date(Number.parseInt(before.slice(0, 13).replace('-', ''), 16) + 1)
  assert.ok(before < lowestIdSince(moment))
  assert.ok(before >= lowestIdSince(new Date(moment.getTime() - 1)))
  assert.equal(lowestIdSince(new Date(0)), '00000000-0000-7000-8000-000000000000')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { idOf } from '../base/ids.ts'
import { allOperations } from './all-operations.ts'
import { fileTypeOf } from './define-operation.ts'
import { presenterOf } from './present.ts'
import { email, timestamp } from './schemas.ts'

const uuid = '01890a5d-ac96-774b-bcce-b302099a8057'
const id = 'lst_01h455vb4pex5vsknk084sn02q'

test('only declared fields go on the wire, at every depth', () => {
  const schema = z.object({ a: z.string(), inner: z.object({ b: z.number() }), items: z.array(z.object({ c: z.boolean() })) })
  const held = { a: 'x', secret: 1, inner: { b: 2, secret: 1 }, items: [{ c: true, secret: 1 }, { c: false }] }
  assert.deepEqual(presenterOf(schema)(held), { a: 'x', inner: { b: 2 }, items: [{ c: true }, { c: false }] })
})

test('ids get their prefix, dates become text in UTC with milliseconds, addresses are shown as written', () => {
  const schema = z.object({ id: idOf('lst'), at: timestamp, email, ids: z.array(idOf('lst')) })
  const held = {
    id: uuid,
    at: new Date('2026-11-15T10:00:00+01:00'),
    email: { address: 'Ann@x.example', key: 'ann@x.example' },
    ids: [uuid],
  }
  assert.deepEqual(presenterOf(schema)(held), { id, at: '2026-11-15T09:00:00.000Z', email: 'Ann@x.example', ids: [id] })
})

test('null stays null, what is absent stays absent', () => {
  const schema = z.object({ id: idOf('lst').nullable(), at: timestamp.nullable().optional(), list: z.array(z.string()).nullable() })
  assert.deepEqual(presenterOf(schema)({ id: null, at: undefined, list: null }), { id: null, list: null })
  assert.deepEqual(presenterOf(schema)({ id: null, at: null, list: [] }), { id: null, at: null, list: [] })
})

test('free-form data passes whole', () => {
  const schema = z.object({ metadata: z.record(z.string(), z.unknown()), anything: z.unknown() })
  const held = { metadata: { a: [1, { b: null }], id: 'x' }, anything: [1] }
  assert.deepEqual(presenterOf(schema)(held), held)
})

test('fields that the prototype has and the value has not are not shown', () => {
  assert.deepEqual(presenterOf(z.object({ a: z.string() }))(Object.create({ b: 1 }, { a: { value: 'x', enumerable: true } })), { a: 'x' })
})

test('a schema with no way back to the wire is refused when it is compiled, not when it answers', () => {
  for (const schema of [
    z.object({ a: z.string().transform(Number) }),
    z.union([z.string(), z.number()]),
    z.date(),
    z.map(z.string(), z.string()),
  ])
    assert.throws(() => presenterOf(schema))
})

test('the answer of every operation can be presented', () => {
  for (const { id, result } of allOperations) {
    if (result !== null && fileTypeOf({ result }) === null) assert.doesNotThrow(() => presenterOf(result), id)
  }
})

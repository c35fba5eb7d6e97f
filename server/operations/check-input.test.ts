import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { ApiError } from '../base/errors.ts'
import { idOf } from '../base/ids.ts'
import { checkInput, refuseUnstorable } from './check-input.ts'
import { email, jsonObject, line, text, timestamp } from './schemas.ts'

function refusal(work: () => unknown): ApiError {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error))
    assert.equal(error.code, 'validation_error')
    return error
  }
  return assert.fail('it was taken')
}
const problem = (schema: z.ZodType, value: unknown) => refusal(() => checkInput(schema, value, 'body')).message

test('what fits comes back parsed, without what was not asked for', () => {
  const schema = z.object({ name: line(5), kind: z.enum(['a', 'b']).default('a') })
  assert.deepEqual(checkInput(schema, { name: ' x ', more: 1 }, 'body'), { name: 'x', kind: 'a' })
})

test('each problem is said in words that name the field', () => {
  const cases: [z.ZodType, unknown, string][] = [
    [z.string(), undefined, 'field: is required'],
    [z.string(), null, 'field: must be a string'],
    [z.boolean(), 'yes', 'field: must be true or false'],
    [z.number(), '5', 'field: must be a number'],
    [z.array(z.string()), 'x', 'field: must be an array'],
    [z.object({}), [], 'field: must be an object'],
    [z.enum(['a', 'b']), 'c', 'field: must be one of a, b'],
    [z.array(z.string()).max(1), ['a', 'b'], 'field: must be at most 1 items'],
    [z.array(z.string()).min(1), [], 'field: must be at least 1 items'],
    [z.array(z.string()), ['a', 5], 'field[1]: must be a string'],
    [z.array(z.object({ email })), [{ email: 'a@b.example' }, { email: 'x' }], 'field[1].email: has no @'],
    [line(3), '  ', 'field: must not be empty'],
    [text(3), 'four', 'field: must have at most 3 characters'],
    [timestamp, 'tomorrow', 'field: must be an ISO 8601 time with an offset, such as 2026-11-15T09:00:00Z'],
    [timestamp, '2026-11-15T09:00:00', 'field: must be an ISO 8601 time with an offset, such as 2026-11-15T09:00:00Z'],
    [idOf('lst'), 'x', 'field: does not have the form it should'],
    [email, 'a b@c.example', 'field: has a space in it'],
    [email, 5, 'field: must be a string'],
  ]
  for (const [schema, value, message] of cases) assert.equal(problem(z.object({ field: schema }), { field: value }), message)
})

test('a body, a query or a path that is none at all is named as such', () => {
  for (const part of ['body', 'query', 'path'] as const)
    assert.equal(refusal(() => checkInput(z.object({}), [], part)).message, `${part}: must be an object`)
})

test('five problems are told, and how many more there are', () => {
  const schema = z.object(Object.fromEntries('abcdefg'.split('').map((name) => [name, z.string()])))
  const error = refusal(() => checkInput(schema, {}, 'body'))
  assert.equal(error.message.split('; ').length, 6)
  assert.match(error.message, /^a: is required; .*; and 2 more$/)
  assert.equal(error.field, 'a')
})

test('NUL and halves of surrogate pairs are found wherever they are', () => {
  const cases: [unknown, RegExp][] = [
    [{ name: 'a\0b' }, /^name: /],
    [{ name: '\ud83d' }, /^name: /],
    [{ name: '\udd8a\ud83e' }, /^name: /],
    [{ a: { b: ['x', { c: '\0' }] } }, /^a\.b\[1\]\.c: /],
    [{ 'a\0': 1 }, /^body: /],
    [{ a: { '\ud83d': 1 } }, /^a: /],
  ]
  for (const [value, message] of cases) assert.match(refusal(() => refuseUnstorable(value, '')).message, message)
})

test('whole characters of any plane, and text that only looks like an escape, are fine', () => {
  for (const value of ['🦊', 'é', '\\u0000', '\ufffd', '\u0001', { a: [null, 5, true, '𝒳'] }]) refuseUnstorable(value, '')
})

/** `[[[…x…]]]`, as JSON.parse gives it: V8 reads any depth. */
const nested = (depth: number, inmost: string) => JSON.parse(`${'['.repeat(depth)}${inmost}${']'.repeat(depth)}`) as unknown

test('a value nested a hundred thousand deep is walked or refused, and never runs the stack over', () => {
  assert.match(refusal(() => refuseUnstorable({ a: nested(100_000, '"\\u0000"') }, '')).message, /^a/)
  const metadata = z.object({ metadata: jsonObject(1_000_000) })
  assert.match(problem(metadata, { metadata: { a: nested(100_000, '') } }), /^metadata: must not be nested more than 20 deep/)
})

test('free-form data may be wide, but not larger than it may be', () => {
  const metadata = z.object({ metadata: jsonObject(1_000) })
  assert.match(problem(metadata, { metadata: { a: Array(300_000).fill(0) } }), /^metadata: must have at most 1000 bytes/)
  assert.match(problem(metadata, { metadata: { a: 'é'.repeat(500) } }), /^metadata: must have at most 1000 bytes/)
  assert.deepEqual(checkInput(metadata, { metadata: { a: [[['x']]] } }, 'body'), { metadata: { a: [[['x']]] } })
})

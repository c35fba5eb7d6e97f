import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { ApiError } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { formatCursor, idPosition, limitOf, pageOf, pageQuery, parseCursor } from './page.ts'

const isRefused = (work: () => unknown) =>
  assert.throws(work, (error) => error instanceof ApiError && error.code === 'validation_error' && error.message.startsWith('cursor: '))

test('a cursor gives back the position it was made of, and says nothing readable', () => {
  const id = newId()
  const cursor = formatCursor([id])
  assert.match(cursor, /^[\w-]+$/)
  assert.deepEqual(parseCursor(cursor, idPosition), [id])
  const position = z.tuple([z.string(), z.uuid()])
  assert.deepEqual(parseCursor(formatCursor(['Ünï "x"', id]), position), ['Ünï "x"', id])
  assert.equal(parseCursor(undefined, idPosition), null)
})

test('anything we did not hand out is refused', () => {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const id = newId()
  const wrong = ['', 'x', '🦊', '%00', 'null', id, encode(null), encode({}), encode([]), encode([1]), encode([2, id]), encode(['1', id])]
  const positions = [
    [1, 5],
    [1, null],
    [1, 'x'],
    [1, id, id],
    [1, [id]],
    [1, `${id}' or '1'='1`],
    [1, id.slice(1)],
  ]
  for (const cursor of [...wrong, ...positions.map(encode)]) isRefused(() => parseCursor(cursor, idPosition))
  isRefused(() => parseCursor(formatCursor(['2026-01-01', id]), idPosition))
})

test('the row too many tells that there is a next page, which begins after the last row shown', () => {
  const rows = ['a', 'b', 'c'].map((key) => ({ key }))
  const first = pageOf(rows, 2, (row) => [row.key])
  assert.deepEqual(first.items, rows.slice(0, 2))
  assert.equal(first.next, formatCursor(['b']))
  const last = pageOf(rows, 3, (row) => [row.key])
  assert.deepEqual(last.items, rows)
  assert.equal(last.next, null)
  assert.equal(pageOf([], 3, () => []).next, null)
})

test('a limit is a whole number from 1 to 200, written in digits', () => {
  const limit = limitOf(50)
  assert.equal(limit.parse(undefined), 50)
  for (const given of ['1', '50', '200']) assert.equal(limit.parse(given), Number(given))
  const refused = [
    '0',
    '-1',
    '201',
    '1e9',
    '99999999999999999999',
    '1.5',
    'x',
    '',
    ' ',
    'NaN',
    'Infinity',
    '5x',
    '0x10',
    '1e2',
    '+5',
    ' 5',
    '5,0',
    '٥',
  ]
  for (const given of [...refused, ['1', '2']]) {
    const parsed = limit.safeParse(given)
    assert.equal(parsed.success, false, JSON.stringify(given))
  }
})

test('a cursor too long to be one of ours is refused before it is read', () => {
  assert.equal(z.object(pageQuery).safeParse({ cursor: 'x'.repeat(501) }).success, false)
})

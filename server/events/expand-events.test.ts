import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatId, newId, parseId } from '../base/ids.ts'
import { type EventRow, eventsOf } from './expand-events.ts'
import { asShared } from './publish.ts'

const rowOf = (more: Partial<EventRow>): EventRow => ({
  id: newId<'evt'>(),
  project_id: newId<'prj'>(),
  type: 'subscriber.created',
  transaction_id: '1',
  position: 1,
  item_count: 1,
  data: null,
  items: null,
  created_at: new Date(),
  ...more,
})
const bulk = (count: number) => ({ template: { n: '$0' }, rows: Array.from({ length: count }, (_, index) => [String(index)]) })

test('a single event is itself', () => {
  const row = rowOf({ data: { a: '$0', b: [1] } })
  const { id, project_id, type, created_at } = row
  assert.deepEqual(eventsOf(row), [{ id, project_id, type, created_at, data: { a: '$0', b: [1] } }])
})

test('a bulk is filled in from its template, at every depth, and what looks like a place in the values stays', () => {
  const items = {
    template: { id: '$0', list: { id: 'lst_x', tags: ['$1', 'fixed', 5, null, true] }, gone: '$9' },
    rows: [
      ['a', 'b'],
      ['$1', null],
    ],
  }
  assert.deepEqual(
    eventsOf(rowOf({ items })).map((event) => event.data),
    [
      { id: 'a', list: { id: 'lst_x', tags: ['b', 'fixed', 5, null, true] }, gone: null },
      { id: '$1', list: { id: 'lst_x', tags: [null, 'fixed', 5, null, true] }, gone: null },
    ],
  )
})

test('a number comes out as one', () => {
  const items = {
    template: { code: '$#0', words: asShared('$#0') },
    rows: [['550'], [null]],
  }
  assert.deepEqual(
    eventsOf(rowOf({ items })).map((event) => event.data),
    [
      { code: 550, words: '$#0' },
      { code: null, words: '$#0' },
    ],
  )
})

test('words that are shared and begin like a place in the values are taken as they are', () => {
  for (const words of ['$0', '$9 off', '$$', '$', 'plain', '']) {
    const row = rowOf({ items: { template: { words: asShared(words), n: '$0' }, rows: [['x']] }, data: null })
    assert.deepEqual(eventsOf(row)[0]?.data, { words, n: 'x' })
  }
})

test('the ids of a bulk are ids like any other, all different, in order, and the same at every look', () => {
  const row = rowOf({ items: bulk(5_000) })
  const ids = eventsOf(row).map((event) => event.id)
  assert.equal(new Set(ids).size, 5_000)
  assert.deepEqual(ids, [...ids].sort())
  assert.deepEqual(
    eventsOf(structuredClone(row)).map((event) => event.id),
    ids,
  )
  for (const id of [ids[0], ids[17], ids[4_999]] as string[]) assert.equal(parseId('evt', formatId('evt', id)), id)
})

test('the last few of a bulk are those that the whole ends with', () => {
  const row = rowOf({ items: bulk(1_000) })
  assert.deepEqual(eventsOf(row, 200), eventsOf(row).slice(-200))
  assert.deepEqual(eventsOf(row, 5_000), eventsOf(row))
  assert.deepEqual(eventsOf(row, 1)[0]?.data, { n: '999' })
})

test('two bulks, though made in the same millisecond, share no id', () => {
  const [first, second] = [rowOf({ items: bulk(100) }), rowOf({ items: bulk(100) })]
  assert.equal(new Set([...eventsOf(first), ...eventsOf(second)].map((event) => event.id)).size, 200)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EmailId, newId, type ThreadId } from '../../base/ids.ts'
import { isMessageId } from './email.ts'
import { replyTo, threadHeaders } from './threading.ts'

const parentOf = (reference_ids: string[], in_reply_to: string | null = null) => ({
  id: newId() as EmailId,
  thread_id: newId() as ThreadId,
  reference_ids,
  in_reply_to,
})

test('a reply refers to what its parent refers to, and to the parent (RFC 5322 section 3.6.4)', () => {
  assert.deepEqual(replyTo('c@x', parentOf(['a@x', 'b@x'])).reference_ids, ['a@x', 'b@x', 'c@x'])
  assert.deepEqual(replyTo('c@x', parentOf([], 'b@x')).reference_ids, ['b@x', 'c@x'])
  assert.deepEqual(replyTo('c@x', parentOf([])).reference_ids, ['c@x'])
  assert.deepEqual(replyTo('c@x', null), { in_reply_to: 'c@x', reference_ids: ['c@x'], thread_id: null })
})

test('a parent that was in no thread begins one', () => {
  const parent = { ...parentOf([]), thread_id: null }
  assert.equal(replyTo('c@x', parent).thread_id, parent.id)
})

test('of a long conversation the first and the last are kept', () => {
  const ids = Array.from({ length: 60 }, (_, index) => `message-number-${index}@mail.example.com`)
  const kept = replyTo('last@x', parentOf(ids)).reference_ids
  assert.deepEqual(kept, [ids[0], ...ids.slice(-9), 'last@x'])
  const short = Array.from({ length: 60 }, (_, index) => `${index}@x`)
  assert.equal(replyTo('last@x', parentOf(short)).reference_ids.length, 61, 'short ones all fit on a line')
})

test('what strangers call an id and is none goes no further', () => {
  const wrong = ['', 'a b@x', 'a@x>\r\nBcc: b@x', 'é@x', '<a@x>', 'x'.repeat(901)]
  for (const id of wrong) assert.equal(isMessageId(id), false, id)
  assert.deepEqual(replyTo('c@x', parentOf([...wrong, 'a@x'])).reference_ids, ['a@x', 'c@x'])
})

test('a mail that answers nothing has none of the headers', () => {
  assert.deepEqual(threadHeaders({ in_reply_to: null, reference_ids: [] }), {})
  assert.deepEqual(threadHeaders({ in_reply_to: 'b@x', reference_ids: ['a@x', 'b@x'] }), {
    'In-Reply-To': '<b@x>',
    References: '<a@x> <b@x>',
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enhancedCodeOf, NotSmtp, type Reply, ReplyReader } from './reply.ts'

function readAll(text: string, pieceLength: number): Reply[] {
  const reader = new ReplyReader()
  const bytes = Buffer.from(text)
  const replies: Reply[] = []
  for (let at = 0; at < bytes.length; at += pieceLength) {
    reader.push(bytes.subarray(at, at + pieceLength))
    for (let reply = reader.next(); reply; reply = reader.next()) replies.push(reply)
  }
  return replies
}

const readable: [text: string, replies: Reply[]][] = [
  ['250 ok\r\n', [{ code: 250, text: '250 ok' }]],
  ['250\r\n', [{ code: 250, text: '250' }]],
  ['250 \r\n', [{ code: 250, text: '250 ' }]],
  ['250-a\r\n250-b\r\n250 c\r\n', [{ code: 250, text: '250-a\n250-b\n250 c' }]],
  ['250-a\r\n250\r\n', [{ code: 250, text: '250-a\n250' }]],
  [
    '250 ok\n354 go\n',
    [
      { code: 250, text: '250 ok' },
      { code: 354, text: '354 go' },
    ],
  ],
  ['550 5.1.1 grüße 用户\r\n', [{ code: 550, text: '550 5.1.1 grüße 用户' }]],
  ['250 half', []],
  ['250-more to come\r\n', []],
]

for (const [text, replies] of readable) {
  test(`${JSON.stringify(text)} is read, whole and in pieces`, () => {
    for (const pieceLength of [1, 2, 3, 7, 1000]) assert.deepEqual(readAll(text, pieceLength), replies)
  })
}

for (const text of [
  'what?\r\n',
  '5\r\n',
  '5500 no\r\n',
  '150 hm\r\n',
  '650 hm\r\n',
  '\r\n',
  ' 250 ok\r\n',
  '250ok\r\n',
  '250-a\r\n251 b\r\n',
  '250-a\r\nb\r\n',
  'HTTP/1.1 400 Bad Request\r\n',
]) {
  test(`${JSON.stringify(text)} is not SMTP`, () => assert.throws(() => readAll(text, 1000), NotSmtp))
}

test('nobody fills our memory', () => {
  assert.throws(() => readAll('x'.repeat(5_000), 100), NotSmtp)
  assert.throws(() => readAll(`250-${'x'.repeat(90)}\r\n`.repeat(1_000), 1000), NotSmtp)
})

test('the enhanced code is where RFC 2034 puts it', () => {
  const codes = ['550 5.1.1 no', '550-5.1.1 no\n550 5.1.1 really', '250 2.0.0', '550 no 5.1.1', '550 5.1 no', '550 3.1.1 no', '250'].map(
    (text) => enhancedCodeOf({ code: 250, text }),
  )
  assert.deepEqual(codes, ['5.1.1', '5.1.1', '2.0.0', null, null, null, null])
})

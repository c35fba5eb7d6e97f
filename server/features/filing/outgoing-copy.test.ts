import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createMailReader } from '../../mail/inbound/mail-reader.ts'
import type { HomeMailbox } from './filed-mail.ts'
import type { InboundMail } from './inbound-mail.ts'
import { carryAttachments, maxAttachmentBytes } from './outgoing-copy.ts'

const reader = createMailReader()
const hasty = createMailReader({ limitMs: 500 })
after(() => Promise.all([reader.stop(), hasty.stop()]))

const part = (name: string, bytes: Buffer) =>
  `--b\r\nContent-Type: text/csv\r\nContent-Disposition: attachment; filename=${name}\r\n\r\n${bytes.toString()}\r\n`
const mailOf = (parts: string, count: number): { mail: InboundMail; mailbox: HomeMailbox } => {
  const raw = Buffer.from(`From: ann@example.com\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${parts}--b--\r\n`)
  const mail = { message: { raw }, parsed: { attachments: Array.from({ length: count }) } } as InboundMail
  return { mail, mailbox: { type: 'proxy' } as HomeMailbox }
}

test('what has room goes on, and the rest is counted', async () => {
  const passed = mailOf(
    part('a.csv', Buffer.from('a')) + part('b.csv', Buffer.alloc(maxAttachmentBytes, 'b')) + part('c.csv', Buffer.from('c')),
    3,
  )
  const carried = (await carryAttachments({ reader }, [passed])).get(passed.mail)
  assert.deepEqual(
    carried?.parts.map(({ filename, base64 }) => [filename, Buffer.from(base64, 'base64').toString().trim()]),
    [
      ['a.csv', 'a'],
      ['c.csv', 'c'],
    ],
  )
  assert.equal(carried?.left, 1)
})

test('a message that takes too much to take apart goes on without its attachments', async () => {
  const encoded = `--b\r\nContent-Type: text/csv\r\nContent-Transfer-Encoding: base64\r\n\r\n${'YQ=='.repeat(8_000_000)}\r\n`
  const dear = mailOf(encoded, 1)
  const easy = mailOf(part('a.csv', Buffer.from('a')), 1)
  await hasty.attachments('warm', easy.mail.message.raw).catch(() => {})
  const carried = await carryAttachments({ reader: hasty }, [dear, easy])
  assert.deepEqual(carried.get(dear.mail), { parts: [], left: 1 })
  assert.equal(carried.get(easy.mail)?.parts.length, 1)
})

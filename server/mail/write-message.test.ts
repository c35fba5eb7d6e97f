import assert from 'node:assert/strict'
import { test } from 'node:test'
import MailComposer from 'nodemailer/lib/mail-composer'
import type Mail from 'nodemailer/lib/mailer'
import PostalMime, { type Email } from 'postal-mime'
import { writeMessage } from './write-message.ts'

const compile = (content: Mail.Options) =>
  new MailComposer({
    from: { name: 'Änn', address: 'ann@example.com' },
    to: { name: '', address: 'bob@example.org' },
    messageId: '<1@example.com>',
    date: new Date('2026-11-15T10:00:00Z'),
    newline: 'win',
    baseBoundary: 'same',
    ...content,
  } as Mail.Options).compile()

/** Soft line breaks may fall elsewhere (RFC 2045 section 6.7); all else is the same, byte by byte. */
const unwrapped = (message: Buffer): string => message.toString('latin1').replace(/=\r\n/g, '')

const texts: Record<string, string> = {
  'a line': 'Thank you, number 1.',
  'a line with its end': 'Thank you, number 1.\r\n',
  nothing: '',
  'white space at the ends of lines': 'Grüße\r\n\r\n  two \t\r\n ',
  'few letters of ASCII': '世界'.repeat(300),
  'many letters of ASCII': 'word '.repeat(400),
  'one long word': 'a'.repeat(3000),
  'dots and what looks like mail': '.\r\n..\r\nFrom here on\r\n--same\r\n',
  'equals signs': '=\r\n=3D ü ==\r\n',
  'lines of just under 76 letters': `${'x'.repeat(75)}\r\n`.repeat(30),
  'letters of two bytes at the ends of lines': `${'ü'.repeat(20)} und `.repeat(60),
  'what is longer than is written in one go': 'Grüße, and a line that is a bit longer.\r\n'.repeat(4000),
}

for (const [name, text] of Object.entries(texts)) {
  for (const html of [undefined, '<p>Hi', texts['few letters of ASCII'], texts['many letters of ASCII']]) {
    test(`${name}, ${html === undefined ? 'alone' : `beside ${html.slice(0, 10)}`}: as nodemailer writes it`, async () => {
      const content = html === undefined ? { text } : { text, html }
      const [ours, theirs] = [await writeMessage(compile(content)), await compile(content).build()]
      assert.equal(unwrapped(ours), unwrapped(theirs))
      for (const line of ours.toString('latin1').split('\r\n')) assert.ok(line.length <= 76, line)
      const read = async (message: Buffer): Promise<Email> => PostalMime.parse(message)
      const [a, b] = [await read(ours), await read(theirs)]
      assert.deepEqual([a.text, a.html], [b.text, b.html])
    })
  }
}

test('attachments are left to nodemailer', async () => {
  const content = { text: 'Here', attachments: [{ filename: 'ä.bin', content: Buffer.from([0, 13, 10, 255]) }] }
  assert.deepEqual(await writeMessage(compile(content)), await compile(content).build())
})

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { mutateMail } from '../../../tests/support/mutate-mail.ts'
import { parseMime } from './mime-parser.ts'
import { parseMail } from './parse-mail.ts'
import { findPlainMail } from './plain-mail.ts'

const plain = (charset: string) => `Content-Type: text/plain; charset=${charset}`
const encoded = (encoding: string) => `Content-Transfer-Encoding: ${encoding}`

const stays: Record<string, (string | Buffer)[]> = {
  'says nothing of its letters': ['Subject: x', '', 'Hello', '', 'there', ''],
  'is UTF-8': [plain('"UTF-8"'), '', 'Grüße 🎉 日本語', ''],
  'says US-ASCII of UTF-8': [plain('us-ascii'), '', 'Grüße', ''],
  'is folded': ['Content-Type: text/plain;', '\tcharset = utf-8', encoded('8bit'), '', 'Hi', ''],
  'begins with an empty line': [plain('us-ascii'), '', '', 'Hi', ''],
  'has blanks at the ends of lines': [plain('utf-8'), encoded('7bit'), '', 'Hi  ', '\t', ''],
}

const isRead: Record<string, (string | Buffer)[]> = {
  'has no end of its last line': [plain('utf-8'), '', 'Hi'],
  flows: ['Content-Type: text/plain; format=flowed', '', 'Hello ', 'there', ''],
  'flows, behind a fold': ['Content-Type: text/plain', ' ; format=flowed', '', 'Hello ', 'there', ''],
  'is in an old alphabet': [plain('iso-8859-1'), '', Buffer.from('Gr\xfc\xdfe', 'latin1'), ''],
  'says an old alphabet of UTF-8': [plain('iso-8859-1'), '', 'Grüße', ''],
  'says UTF-8 and is none': [plain('utf-8'), '', Buffer.from('Gr\xfc\xdfe', 'latin1'), ''],
  'has a mark of its order of bytes': [plain('utf-8'), '', '\ufeffHi', ''],
  'has a stray carriage return': [plain('utf-8'), '', 'Hi\rthere', ''],
  'is in base64': [plain('utf-8'), encoded('base64'), '', 'SGVsbG8=', ''],
  'is quoted printable': [plain('utf-8'), encoded('quoted-printable'), '', 'a=20b', ''],
  'has parts': ['Content-Type: multipart/mixed; boundary=b', '', '--b', plain('utf-8'), '', 'Hi', '--b--', ''],
  'is HTML': ['Content-Type: text/html', '', '<p>Hi</p>', ''],
  'has bare line ends in its head': ['Subject: x\nContent-Type: text/html\n', '', '<p>Hi</p>', ''],
}

const messageOf = (lines: (string | Buffer)[]) =>
  Buffer.concat(lines.flatMap((line, index) => [Buffer.from(index === 0 ? '' : '\r\n'), Buffer.from(line)]))

for (const [name, lines] of Object.entries(stays))
  test(`the text of a mail that ${name} is found in the raw message`, async () => {
    const raw = messageOf(lines)
    const { text, text_in_raw } = await parseMail(raw)
    assert.equal(text, (await parseMime(raw, {})).text)
    assert.deepEqual(text_in_raw, { at: raw.length - (text_in_raw?.bytes ?? 0), bytes: raw.length - raw.indexOf('\r\n\r\n') - 4 })
  })

for (const [name, lines] of Object.entries(isRead))
  test(`a mail that ${name} is left to the parser`, async () => {
    const raw = messageOf(lines)
    assert.equal(findPlainMail(raw), null)
    const { text, text_in_raw } = await parseMail(raw)
    assert.ok(text)
    assert.equal(text_in_raw, null)
  })

test('what a database cannot hold, nobody can see, or is kept elsewhere is not read out of the raw message', async () => {
  for (const body of ['H\0i', ' \t', 'x'.repeat(64 * 1024)]) {
    const raw = messageOf([plain('utf-8'), '', body, ''])
    assert.equal(findPlainMail(raw)?.bytes, body.length + 2)
    assert.equal((await parseMail(raw)).text_in_raw, null)
  }
})

test('whatever is taken for plain text, the parser reads the same, in fixtures and in mutated mail', async () => {
  const corpus = globSync(join(import.meta.dirname, '../{inbound,reports}/**/*.eml'))
    .sort()
    .map((file) => Buffer.from(readFileSync(file, 'latin1').replace(/\r?\n/g, '\r\n'), 'latin1'))
  const mutated = Array.from({ length: 2_000 }, (_, seed) => mutateMail(corpus, seed).subarray(0, 30_000))
  let found = 0
  for (const raw of [...corpus, ...mutated]) {
    const mail = findPlainMail(raw)
    if (!mail) continue
    found++
    const whole = await parseMime(raw, {}).catch((error: Error) => error.message)
    const apart = await parseMime(mail.head, {}).catch((error: Error) => error.message)
    assert.deepEqual(typeof apart === 'string' ? apart : { ...apart, text: mail.text }, whole, raw.toString('latin1'))
  }
  assert.ok(found > 100, `${found} of them are plain`)
})

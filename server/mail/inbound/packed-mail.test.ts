import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bodiesOf, bodyBytesOf, headersOf, packMail } from './packed-mail.ts'
import { parseMail } from './parse-mail.ts'

const mail = (lines: string[]) => parseMail(Buffer.from(lines.join('\r\n')))

test('what is packed comes out again, letter by letter', async () => {
  const both = await mail([
    'From: Zoë <z@example.org>',
    'Subject: Hi',
    'Content-Type: text/html; charset=utf-8',
    '',
    '<p>\ufeff„Grüße“ 🎉</p>',
  ])
  const reply = await mail(['Subject: Re: Hi', 'Content-Type: text/plain; charset=utf-8', '', 'Ja, schön.', '', '> Möchtest du?', ''])
  const nothing = await mail(['Subject: Nothing', '', ''])
  for (const parsed of [both, reply, nothing]) {
    const packed = packMail(parsed)
    const { text, html, extracted_text, headers } = parsed
    assert.deepEqual(bodiesOf(packed), {
      text_body: text,
      html_body: html,
      extracted_text: extracted_text === text?.trim() ? null : extracted_text,
    })
    assert.deepEqual(headersOf(packed), headers)
    assert.equal(Buffer.from(bodyBytesOf(packed)).toString(), Object.values(bodiesOf(packed)).join(''))
  }
  assert.equal(reply.extracted_text, 'Ja, schön.')
  assert.equal(packMail(nothing).body_bytes.text_body, null)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bodiesOf, headersOf, packMail, withText } from './packed-mail.ts'
import { parseMail } from './parse-mail.ts'

const rawOf = (lines: string[]) => Buffer.from(lines.join('\r\n'))
const plain = (charset: string) => `Content-Type: text/plain; charset=${charset}`

test('what is packed comes out again, letter by letter', async () => {
  const both = ['From: Zoë <z@example.org>', 'Subject: Hi', 'Content-Type: text/html; charset=utf-8', '', '<p>\ufeff„Grüße“ 🎉</p>']
  const reply = ['Subject: Re: Hi', plain('utf-8'), '', 'Ja, schön.', '', '> Möchtest du?', '']
  const nothing = ['Subject: Nothing', '', '']
  for (const raw of [both, reply, nothing].map(rawOf)) {
    const parsed = await parseMail(raw)
    for (const packed of [packMail(parsed), withText(packMail(parsed), raw)]) {
      const { text, html, extracted_text, headers } = parsed
      assert.deepEqual(bodiesOf(packed, raw), {
        text_body: text,
        html_body: html,
        extracted_text: extracted_text === text?.trim() ? null : extracted_text,
      })
      assert.deepEqual(headersOf(packed), headers)
      assert.equal(Buffer.from(withText(packed, raw).bodies ?? []).toString(), Object.values(bodiesOf(packed, raw)).join(''))
    }
  }
  assert.deepEqual(packMail(await parseMail(rawOf(reply))).body_bytes, { text_body: null, html_body: null, extracted_text: 11 })
  assert.equal((await parseMail(rawOf(reply))).extracted_text, 'Ja, schön.')
  assert.equal(packMail(await parseMail(rawOf(nothing))).body_bytes.text_body, null)
  assert.equal(packMail(await parseMail(rawOf(['Subject: Hi', '', 'Hello.', '']))).bodies, null, 'its text is in the raw message')
})

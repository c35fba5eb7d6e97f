import assert from 'node:assert/strict'
import { test } from 'node:test'
import PostalMime, { decodeWords, type Email } from 'postal-mime'
import { composeMessage, type OutgoingMail } from './compose.ts'

const plain: OutgoingMail = {
  from: { name: 'Ann Lee', address: 'ann@example.com' },
  to: 'bob@example.org',
  reply_to: null,
  subject: 'Hello',
  text: 'Hi Bob\n',
  html: null,
  message_id: '0199-abc@example.com',
  date: new Date('2026-11-15T10:00:00Z'),
  headers: {},
}

interface Composed {
  raw: string
  /** The header block alone, unfolded, one field per element. */
  fields: string[]
  email: Email
}

/** Composes, and checks what must hold of every message. */
async function compose(change: Partial<OutgoingMail> = {}): Promise<Composed> {
  const bytes = await composeMessage({ ...plain, ...change })
  const raw = bytes.toString('latin1')
  assert.doesNotMatch(raw, /\r(?!\n)|(?<!\r)\n|\0/, 'only CRLF ends a line')
  assert.ok(raw.endsWith('\r\n'))
  for (const line of raw.split('\r\n')) assert.ok(line.length <= 998, `a line of ${line.length} bytes`)
  const head = bytes.subarray(0, bytes.indexOf('\r\n\r\n')).toString('utf8')
  for (const line of head.split('\r\n')) assert.match(line, /\S/, 'no header line of white space alone')
  const fields = head.replace(/\r\n(?=[ \t])/g, '').split('\r\n')
  for (const name of ['From', 'To', 'Date', 'Message-ID', 'MIME-Version', 'Content-Type']) {
    assert.equal(fields.filter((field) => field.startsWith(`${name}:`)).length, 1, `${name} once`)
  }
  return { raw, fields, email: await PostalMime.parse(bytes) }
}

test('a plain message has its fields and its text', async () => {
  const { fields, email } = await compose()
  assert.ok(fields.includes('From: Ann Lee <ann@example.com>'))
  assert.ok(fields.includes('To: bob@example.org'))
  assert.ok(fields.includes('Subject: Hello'))
  assert.ok(fields.includes('Message-ID: <0199-abc@example.com>'))
  assert.ok(fields.includes('Date: Sun, 15 Nov 2026 10:00:00 +0000'))
  assert.equal(email.text, 'Hi Bob\n')
  assert.equal(email.html, undefined)
  assert.ok(!fields.some((field) => /^(?:reply-to|x-mailer|bcc):/i.test(field)))
})

test('text and html become multipart/alternative, text first', async () => {
  const { raw, email } = await compose({ html: '<p>Hi Bob</p>', reply_to: 'desk@example.com' })
  assert.match(raw, /Content-Type: multipart\/alternative;/)
  assert.ok(raw.indexOf('text/plain') < raw.indexOf('text/html'))
  assert.equal(email.text?.trim(), 'Hi Bob')
  assert.equal(email.html?.trim(), '<p>Hi Bob</p>')
  assert.deepEqual(email.replyTo, [{ address: 'desk@example.com', name: '' }])
})

for (const subject of [
  '🎉 Grüße, 世界! Ваш выпуск №5 👩‍👩‍👧',
  '👋'.repeat(300),
  'é'.repeat(2000),
  'a'.repeat(10_000),
  'word '.repeat(2000).trim(),
  '=?utf-8?Q?not_an_encoded_word?=',
  '"quoted" <and> (odd), [list] a@b; c: d\\',
  'two  spaces, then     five',
  ' '.repeat(300),
  `${' '.repeat(200)}end`,
]) {
  test(`the subject ${JSON.stringify(subject.slice(0, 40))} comes back as it was`, async () => {
    const { raw, email } = await compose({ subject })
    assert.equal((email.subject ?? '').trim(), subject.trim())
    assert.doesNotMatch(raw.slice(0, raw.indexOf('\r\n\r\n')), /[^\0-\x7f]/)
  })
}

for (const breaking of [
  '\r\nBcc: eve@example.net',
  '\nBcc: eve@example.net',
  '\rBcc: eve@example.net',
  '\0\r\n\r\nBody',
  '\u2028Bcc: eve@example.net',
  '\ud800\r\n.\r\n',
]) {
  test(`${JSON.stringify(breaking)} adds no header and no body`, async () => {
    const evil = `x${breaking}`
    const { fields, email, raw } = await compose({
      subject: evil,
      from: { name: evil, address: 'ann@example.com' },
      message_id: `id@example.com>${breaking}`,
      headers: {
        'X-Custom': evil,
        'List-ID': `${evil} <news.example.com>`,
        References: `<a@b>${breaking}`,
        Cc: `c@example.com${breaking}`,
      },
    })
    const names = fields.map((field) => field.slice(0, field.indexOf(':'))).sort()
    assert.deepEqual(names, [
      'Cc',
      'Content-Transfer-Encoding',
      'Content-Type',
      'Date',
      'From',
      'List-ID',
      'MIME-Version',
      'Message-ID',
      'References',
      'Subject',
      'To',
      'X-Custom',
    ])
    assert.equal(email.text, 'Hi Bob\n')
    assert.equal(email.to?.length, 1)
    assert.doesNotMatch(raw, /\r\n\.\r\n/)
  })
}

test('attachments travel with their names, and pictures with what the HTML calls them by', async () => {
  const base64 = Buffer.from('bytes').toString('base64')
  const bytes = await composeMessage({
    ...plain,
    html: '<img src="cid:logo@x">',
    attachments: [
      { filename: 'Übersicht\r\nX: y.pdf', content_type: 'application/pdf', content_id: null, base64 },
      { filename: 'logo.png', content_type: 'image/png', content_id: 'logo@x', base64 },
    ],
  })
  const { attachments, headers } = await PostalMime.parse(bytes)
  assert.deepEqual(
    attachments.map(({ filename, mimeType, contentId, content }) => [
      filename,
      mimeType,
      contentId,
      Buffer.from(content as ArrayBuffer).toString(),
    ]),
    [
      ['logo.png', 'image/png', '<logo@x>', 'bytes'],
      ['Übersicht X: y.pdf', 'application/pdf', undefined, 'bytes'],
    ],
  )
  assert.ok(!headers.some(({ key }) => key === 'x'))
})

test('what is not one bare address is refused', async () => {
  for (const address of [
    '',
    'bob',
    'a@example.org, b@example.org',
    'Bob <bob@example.org>',
    'bob@example.org\r\nBcc: eve@example.net',
    'a@b@c',
    `${'a'.repeat(400)}@example.org`,
    'b\0b@c.d',
  ]) {
    for (const change of [{ to: address }, { reply_to: address }, { from: { name: 'Ann', address } }]) {
      await assert.rejects(composeMessage({ ...plain, ...change }), /is not a bare e-mail address/)
    }
  }
})

test('header names that are not names, or not free, are refused', async () => {
  for (const name of ['X-A\r\nBcc', 'X A', 'X:', '', 'Ünïcode']) {
    await assert.rejects(composeMessage({ ...plain, headers: { [name]: 'x' } }), /is not a header field name/)
  }
  for (const name of [
    'From',
    'to',
    'SUBJECT',
    'Bcc',
    'Content-Type',
    'content-transfer-encoding',
    'MIME-Version',
    'Message-Id',
    'Reply-To',
  ]) {
    await assert.rejects(composeMessage({ ...plain, headers: { [name]: 'x' } }), /is written by the composer/)
  }
  await assert.rejects(
    composeMessage({ ...plain, headers: { 'List-Unsubscribe': `<https://x.example/${'a'.repeat(1000)}>` } }),
    /cannot be folded/,
  )
})

test('list headers are not mangled', async () => {
  const url = `https://news.example.com/u/${'t'.repeat(400)}`
  const { fields } = await compose({
    headers: {
      'List-Unsubscribe': `<${url}>, <mailto:u@news.example.com>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'List-ID': '"Daily \\"News\\"" <daily.example.com>',
      'Feedback-ID': 'post:list:news:posthaste',
      'In-Reply-To': '<parent@example.com>',
      References: '<root@example.com> <parent@example.com>',
    },
  })
  assert.ok(fields.includes(`List-Unsubscribe: <${url}>, <mailto:u@news.example.com>`))
  assert.ok(fields.includes('List-Unsubscribe-Post: List-Unsubscribe=One-Click'))
  assert.ok(fields.includes('List-ID: "Daily \\"News\\"" <daily.example.com>'))
  assert.ok(fields.includes('Feedback-ID: post:list:news:posthaste'))
  assert.ok(fields.includes('In-Reply-To: <parent@example.com>'))
  assert.ok(fields.includes('References: <root@example.com> <parent@example.com>'))
})

test('a list name in any language leaves the list id readable', async () => {
  const { fields, email } = await compose({ headers: { 'List-ID': '"Grüße 世界" <daily.example.com>', 'X-Note': 'naïve café' } })
  assert.match(fields.find((field) => field.startsWith('List-ID')) ?? '', /^List-ID: =\?UTF-8\?B\?[\w+/=]+\?= <daily\.example\.com>$/)
  assert.equal(decodeWords(email.headers.find((header) => header.key === 'x-note')?.value ?? ''), 'naïve café')
})

for (const name of ['O\'Hara, "Pat" <x@y>', '日本 太郎', 'Zoë', 'a b', '=?utf-8?Q?x?=', 'back\\slash', '  spaced   out  ']) {
  test(`the name ${JSON.stringify(name)} comes back`, async () => {
    const { email } = await compose({ from: { name, address: 'ann@example.com' } })
    assert.equal(email.from?.address, 'ann@example.com')
    if (!name.startsWith('=?')) assert.equal(email.from?.name, name.replace(/ +/g, ' ').trim())
  })
}

for (const letter of ['a', 'é', '👋', 'ab ', '"']) {
  test(`a name of 10,000 letters (${letter}) breaks nothing`, async () => {
    const { email } = await compose({ from: { name: letter.repeat(10_000 / letter.length), address: 'ann@example.com' } })
    assert.equal(email.from?.address, 'ann@example.com')
    assert.ok((email.from?.name ?? '').length >= 100)
  })
}

test('no name leaves the bare address', async () => {
  for (const name of [null, '', '\r\n']) {
    assert.ok((await compose({ from: { name, address: 'ann@example.com' } })).fields.includes('From: ann@example.com'))
  }
})

test('IDN domains are sent in A-labels, a Unicode local part as UTF-8', async () => {
  const { fields } = await compose({ from: { name: null, address: 'ann@bücher.example' }, to: 'bob@例え.テスト' })
  assert.ok(fields.includes('From: ann@xn--bcher-kva.example'))
  assert.ok(fields.includes('To: bob@xn--r8jz45g.xn--zckzah'))
  const unicode = await compose({ to: '用户@example.org' })
  assert.ok(unicode.fields.includes('To: 用户@example.org'))
})

for (const text of [
  'a\rb\nc\r\nd',
  `${'x'.repeat(5000)}\n`,
  '.\n..\n.dot',
  'From here\n',
  'tab\there\n',
  'ünï 👋\n',
  `${'世'.repeat(3000)}\n`,
  'nul\0nul',
  '',
]) {
  test(`the text ${JSON.stringify(text.slice(0, 30))} comes back`, async () => {
    const expected = text
      .replaceAll('\0', '')
      .replace(/\r\n|\r/g, '\n')
      .trimEnd()
    const { email } = await compose({ text })
    assert.equal((email.text ?? '').trimEnd(), expected)
    const both = await compose({ text: 'alternative', html: text })
    assert.equal((both.email.html ?? '').trimEnd(), expected)
  })
}

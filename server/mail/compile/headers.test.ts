import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fillPost, readWithPython, someFrame, tokensOf } from '../../../tests/support/compiled-posts.ts'
import { compilePost } from './compile-post.ts'

test('a post carries every field that the big receivers and the RFCs ask for, and no other', async () => {
  const { fields } = await fillPost({})
  const boundary = /boundary="([^"]+)"/.exec(fields.join('\n'))?.[1]
  assert.deepEqual(fields, [
    'From: Ann Lee <ann@example.com>',
    'To: Bob <bob@example.org>',
    'Reply-To: desk@example.com',
    'Subject: News',
    'Date: Sun, 15 Nov 2026 10:00:00 +0000',
    'Message-ID: <0199-abc@posthaste.test>',
    'List-Unsubscribe: <https://posthaste.test/u/tok3n>, <mailto:unsubscribe+tok3n@posthaste.test>',
    'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
    'List-ID: Weekly <weekly.posthaste.test>',
    'List-Archive: <https://weekly.posthaste.test/>',
    'List-Post: NO',
    'Feedback-ID: post1:list1:broadcast:posthaste',
    'MIME-Version: 1.0',
    `Content-Type: multipart/alternative; boundary="${boundary}"`,
  ])
})

test('without an address that somebody reads, the way out is the link alone', async () => {
  const { fields } = await fillPost({ frame: { mail: { ...someFrame.mail, unsubscribe: null } } })
  assert.ok(fields.includes('List-Unsubscribe: <https://posthaste.test/u/tok3n>'))
  assert.ok(fields.includes('List-Unsubscribe-Post: List-Unsubscribe=One-Click'))
})

test('each place of a copy has the token that is made for it', async () => {
  const tokens = { click: 'cl1ck', open: '0pen', unsubscribe: 'unsub', return_path: 'p4th' }
  const tracked = { track_opens: true, track_clicks: true, mail: { ...someFrame.mail, complaints: 'fbl@posthaste.test' } }
  for (const html of ['<p><a href="https://a.test/">a</a></p>', '{% if name %}<p><a href="https://a.test/">a</a></p>{% endif %}']) {
    const { fields, email } = await fillPost({ post: { html }, frame: tracked, reader: { tokens } })
    assert.match(email.html ?? '', /posthaste\.test\/c\/cl1ck\/0/)
    assert.match(email.html ?? '', /posthaste\.test\/o\/0pen\.gif/)
    assert.match(email.html ?? '', /posthaste\.test\/u\/unsub/)
    assert.ok(fields.includes('List-Unsubscribe: <https://posthaste.test/u/unsub>, <mailto:unsubscribe+unsub@posthaste.test>'))
    assert.ok(fields.includes('CFBL-Feedback-ID: p4th'))
    assert.doesNotMatch(`${email.html} ${email.text}`, /p4th/, 'the return path stands in no text that is passed on')
  }
})

test('complaint reports are asked for where there is an address for them (RFC 9477)', async () => {
  const { fields } = await fillPost({ frame: { mail: { ...someFrame.mail, complaints: 'fbl@posthaste.test' } } })
  assert.ok(fields.includes('CFBL-Address: fbl@posthaste.test; report=arf'))
  assert.ok(fields.includes('CFBL-Feedback-ID: tok3n'))
})

test('a post of text alone is one part', async () => {
  const { fields, email } = await fillPost({ post: { html: null, text: 'Hello {{ name }}' } })
  assert.ok(fields.includes('Content-Type: text/plain; charset=utf-8'))
  assert.ok(fields.includes('Content-Transfer-Encoding: quoted-printable'))
  assert.equal(email.html, undefined)
  assert.match(
    email.text ?? '',
    /^Hello Bob\n\n-- \nWeekly\nUnsubscribe: https:\/\/posthaste\.test\/u\/tok3n\nPreferences: https:\/\/posthaste\.test\/preferences\/tok3n\n$/,
  )
})

test('a Message-ID with a domain of its own keeps it, and a frame from JSON has its date', async () => {
  const { fields } = await fillPost({ reader: { message_id: 'x@example.net' }, frame: JSON.parse(JSON.stringify(someFrame)) })
  assert.ok(fields.includes('Message-ID: <x@example.net>'))
  assert.ok(fields.includes('Date: Sun, 15 Nov 2026 10:00:00 +0000'))
})

test('the return path is the recipient’s own', () => {
  const post = compilePost({ subject: '', preview_text: null, html: null, text: 'x', markdown: null }, someFrame)
  assert.equal(post.returnPath({ tokens: { ...tokensOf('other'), return_path: 'tok3n' } }), 'b+tok3n@posthaste.test')
})

const names = [
  'Ann Lee',
  'O\'Hara, "Pat" <x@y>',
  'back\\slash',
  '日本 太郎',
  'Zoë',
  'שלום עולם',
  'مرحبا \u202eevil\u202c',
  '👩‍👩‍👧 family',
  'semi; colon: @ (comment)',
  '=?utf-8?Q?x?=',
  'a.b.c',
  '"',
  '\\',
  ',',
  '  spaced   out  ',
  'x'.repeat(61),
  `${'word '.repeat(20)}end`,
  'e\u0301'.repeat(80),
]

for (const name of names) {
  test(`the name ${JSON.stringify(name.slice(0, 30))} comes back, in To, From and List-ID`, async () => {
    const { email } = await fillPost({
      reader: { name },
      frame: { from: { name, address: 'ann@example.com' }, list: { ...someFrame.list, name } },
    })
    const expected = name.replace(/\s+/g, ' ').trim()
    assert.deepEqual(email.to, [{ name: expected, address: 'bob@example.org' }])
    assert.deepEqual(email.from, { name: expected, address: 'ann@example.com' })
  })
}

for (const evil of [
  'x\r\nBcc: eve@example.net',
  'x\nBcc: eve@example.net',
  'x\rBcc: eve@example.net',
  'x\0\r\n\r\nBody',
  'x\u2028Bcc: eve@example.net',
  'x\u0085Bcc: eve@example.net',
  '\ud800\r\n.\r\n',
  'x> <eve@example.net',
  'x" <eve@example.net>, "y',
  '\r\n \r\n',
  '\0',
  ...['a', 'é', '👋', 'ab ', '"', '\r\n', '\\'].map((letter) => letter.repeat(10_000 / letter.length)),
]) {
  test(`${JSON.stringify(evil.slice(0, 30))} (${evil.length} letters) injects nothing`, async () => {
    const plain = await fillPost({ post: { subject: 'Dear {{ name }}', html: '<p>{{ name }}</p>' } })
    const { fields, email } = await fillPost({
      post: { subject: 'Dear {{ name }}', html: '<p>{{ name }}</p>' },
      reader: { name: evil },
      frame: { from: { name: evil, address: 'ann@example.com' }, list: { ...someFrame.list, name: evil }, postal_address: evil },
    })
    const nameOf = (field: string) => field.slice(0, field.indexOf(':'))
    assert.deepEqual(fields.map(nameOf), plain.fields.map(nameOf))
    assert.equal(email.to?.[0]?.address, 'bob@example.org')
    assert.equal(email.to?.length, 1)
    assert.equal(email.from?.address, 'ann@example.com')
    assert.ok((email.text ?? '').length > 0 && (email.html ?? '').length > 0)
    assert.equal(email.attachments.length, 0)
  })
}

const subjects = [
  '🎉 Grüße, 世界! Ваш выпуск №5 👩‍👩‍👧',
  '👋'.repeat(300),
  'a'.repeat(10_000),
  'word '.repeat(400).trim(),
  '=?utf-8?Q?not_an_encoded_word?=',
  '"quoted" <and> (odd), [list] a@b; c: d\\',
  'two  spaces, then     five',
  'עברית מימין לשמאל',
  '.',
  '',
]

for (const subject of subjects) {
  test(`the subject ${JSON.stringify(subject.slice(0, 30))} comes back`, async () => {
    const same = await fillPost({ post: { subject } })
    const filled = await fillPost({ post: { subject: '{{ contact.subject }}' }, reader: { values: { contact: { subject } } } })
    assert.equal(same.email.subject ?? '', subject)
    assert.equal(filled.email.subject ?? '', subject)
    assert.deepEqual(
      same.fields,
      filled.fields.map((field, index) => (field.startsWith('Content-Type') ? (same.fields[index] as string) : field)),
    )
  })
}

test('Python reads the same names and subjects', async (t) => {
  const cases = [...names.map((name) => ({ name, subject: 'x' })), ...subjects.map((subject) => ({ name: 'Bob', subject }))]
  const filled = await Promise.all(cases.map(({ name, subject }) => fillPost({ post: { subject }, reader: { name } })))
  const mails = readWithPython(filled.map(({ raw }) => Buffer.from(raw, 'latin1')))
  if (!mails) return t.skip('there is no python3 on this machine')
  mails.forEach((mail, index) => {
    const { name, subject } = cases[index] as (typeof cases)[number]
    assert.deepEqual(mail.to, [[name.replace(/\s+/g, ' ').trim(), 'bob@example.org']])
    assert.equal(mail.subject, subject)
  })
})

test('IDN domains are sent in A-labels, a Unicode local part as UTF-8', async () => {
  const idn = await fillPost({ reader: { email: 'bob@例え.テスト', name: null } })
  assert.ok(idn.fields.includes('To: bob@xn--r8jz45g.xn--zckzah'))
  const unicode = await fillPost({ reader: { email: '用户@bücher.example', name: '用户' } })
  assert.ok(unicode.fields.some((field) => field.endsWith(' <用户@xn--bcher-kva.example>')))
})

test('what is no bare address, token or id is refused', () => {
  const { fill } = compilePost({ subject: 'x', preview_text: null, html: '<p>x</p>', text: null, markdown: null }, someFrame)
  const good = { tokens: tokensOf('a'), email: 'a@example.com', name: null, message_id: 'm', values: {} }
  for (const email of [
    '',
    'bob',
    'a@b@c',
    'a@example.org, b@example.org',
    'Bob <b@c.d>',
    'b@c.d\r\nBcc: e@f.g',
    'b\0b@c.d',
    'a@b c.d',
    `${'a'.repeat(400)}@b.c`,
  ]) {
    assert.throws(() => fill({ ...good, email }), /To is not a bare e-mail address/)
  }
  for (const token of ['', 'a b', 'a"b', 'a>b', 'a\r\nb', 'ü', '<x>', '=', 'a'.repeat(300)]) {
    for (const purpose of ['click', 'open', 'unsubscribe', 'return_path'])
      assert.throws(() => fill({ ...good, tokens: { ...good.tokens, [purpose]: token } }), /is not a token/)
  }
  for (const message_id of ['', 'a b', 'a>\r\nBcc: x', '<x>', 'ü']) {
    if (message_id !== '') assert.throws(() => fill({ ...good, message_id }), /Message-ID has something in it/)
  }
})

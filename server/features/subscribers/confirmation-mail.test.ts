import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { linkIn, mailTo } from '../../../tests/support/received-mail.ts'
import { startSmtpPeer } from '../../../tests/support/smtp-peer.ts'

/** The one mail that a stranger can make us send: what others typed must not turn it into theirs. */
const peer = await startSmtpPeer()
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })

const expectedFields = ['auto-submitted', 'content-type', 'date', 'from', 'message-id', 'mime-version', 'reply-to', 'subject', 'to']
const evil = 'Free money\r\nBcc: victim@example.net\r\nX-Evil: yes\r\n\r\n<script>alert(1)</script>'

const headerOf = (raw: string) => raw.slice(0, raw.indexOf('\r\n\r\n'))

let number = 0
/** The confirmation mail of a list with these settings, to somebody who gave this name. */
async function mailFrom(settings: Record<string, unknown>, name?: string) {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'News' })
  assert.equal((await project.patch(`/lists/${list.id}`, settings)).status, 200)
  const email = `reader-${++number}@example.org`
  assert.equal((await project.post(`/lists/${list.id}/subscribers`, { email, ...(name ? { name } : {}) })).status, 201)
  const mail = await mailTo(peer, email)
  return { list, mail, email, raw: mail.message.raw.toString() }
}

test('it has the fields it should, a text and an HTML part, and its one link in both', async () => {
  const { mail, list, raw, email } = await mailFrom({
    reply_to: 'editor@example.org',
    postal_address: '1 High Street',
    confirmation_message: 'Hello there!',
  })
  assert.deepEqual(mail.headers.map((header) => header.key).sort(), expectedFields)
  assert.deepEqual([mail.from?.address, mail.message.to], [list.mailbox_address, [email]])
  assert.match(mail.message.from, /^b\+\w{52}@/, 'what comes back finds it')
  assert.equal(mail.to?.[0]?.address, email)
  assert.equal(mail.replyTo?.[0]?.address, 'editor@example.org')
  assert.match(mail.messageId ?? '', /^<msg_[0-9a-z]{26}@posthaste\.test>$/)
  const link = linkIn(mail)
  for (const part of [mail.text ?? '', mail.html ?? ''])
    for (const words of [link, 'Hello there!', '1 High Street']) assert.ok(part.includes(words), part)
  assert.ok(raw.indexOf('text/plain') < raw.indexOf('text/html'))
})

test('the name that was given for the subscriber is nowhere in it', async () => {
  const { mail, raw } = await mailFrom({}, 'Buy-Cheap-Watches https://spam.example')
  for (const text of [raw, mail.text ?? '', mail.html ?? '', mail.subject ?? '', JSON.stringify(mail.to)]) {
    assert.ok(!text.includes('Watches'))
    assert.ok(!text.includes('spam.example'))
  }
})

test('line breaks and tags in the list’s name make no header, no recipient and no HTML', async () => {
  const project = await app.newProject()
  assert.equal((await project.post('/lists', { name: evil })).status, 422)
  // What Unicode calls a line break is a letter like any other to mail.
  const { mail, raw, email } = await mailFrom({ name: evil.replaceAll('\r\n', '\u2028') })
  assert.deepEqual(mail.message.to, [email])
  const fields = mail.headers.map((header) => header.key)
  assert.ok(!fields.includes('bcc') && !fields.includes('x-evil'), fields.join())
  assert.doesNotMatch(headerOf(raw), /^(bcc|x-evil):/im)
  assert.ok(!mail.html?.includes('<script'))
  assert.ok(mail.html?.includes('&lt;script&gt;'))
  assert.ok(!peer.commands.some((command) => command.includes('victim')))
})

test('nor do they in its other texts', async () => {
  for (const setting of ['confirmation_message', 'postal_address', 'description']) {
    const { mail, raw } = await mailFrom({ [setting]: evil }, evil)
    assert.ok(!mail.headers.some((header) => ['bcc', 'x-evil'].includes(header.key)), setting)
    assert.ok(!mail.html?.includes('<script'), setting)
    // In the text part they are text, after the empty line that ends the header.
    assert.doesNotMatch(headerOf(raw), /^(bcc|x-evil):/im)
  }
})

test('a message that looks like the end of one does not end it', async () => {
  const { mail } = await mailFrom({ confirmation_message: 'before\r\n.\r\nMAIL FROM:<evil@example.net>\r\n..\r\n\n.\n\r.\rafter' })
  assert.match(mail.text ?? '', /before\s+\.\s+MAIL FROM:<evil@example\.net>[\s\S]*after/)
  assert.ok(!peer.commands.some((command) => command.includes('evil@example.net')))
  assert.ok(mail.text?.includes('/confirm/'))
})

test('bidirectional tricks, quotes and commas in the name stay one sender', async () => {
  const { mail, list } = await mailFrom({ name: '"Bank" <fraud@example.net>, \u202eknaB (x) ünï' })
  assert.equal(mail.from?.address, list.mailbox_address)
  assert.ok(!('group' in (mail.from ?? {})))
  assert.ok(!peer.commands.some((command) => command.includes('fraud@example.net')))
})

test('long names of any script arrive whole, on lines that mail allows', async () => {
  for (const name of ['x'.repeat(200), '長'.repeat(200), 'é '.repeat(99).trim()]) {
    const { mail, raw } = await mailFrom({ name })
    assert.equal(mail.subject, `Confirm your subscription to ${name}`)
    assert.ok(raw.split('\r\n').every((line) => Buffer.byteLength(line) <= 998))
    assert.ok(!/[^\r]\n|\r[^\n]/.test(raw))
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { threadMs } from '../server/base/thread-time.ts'
import { emailText } from '../server/features/raw-mail/index.ts'
import { startDnsPeer } from './support/dns-peer.ts'
import { letterOf } from './support/inbound.ts'
import { startApp } from './support/posthaste.ts'
import { newList } from './support/posts.ts'
import { createSigningDomain } from './support/signed-mail.ts'
import { greetedSmtp } from './support/smtp-client.ts'
import { until } from './support/until.ts'

/** What strangers send, byte by byte, over SMTP, up to the database. */
const signing = createSigningDomain('example.com')
const dns = await startDnsPeer({ ...signing.names })
const app = await startApp({ DNS_SERVERS: dns.address })
test.after(() => dns.close())
const { database } = app.services

/** The answer to the final dot. The bytes hold no line with a lone dot. */
async function send(to: string, raw: Buffer, from = 'ann@example.com'): Promise<string> {
  const client = await greetedSmtp({ port: app.smtpPort })
  await client.beginMessage(to, from)
  client.write(Buffer.concat([raw, Buffer.from('\r\n.\r\n')]))
  const answer = await client.reply()
  client.close()
  return answer
}

const bytes = (text: string) => Buffer.from(text, 'latin1')
const head = 'From: Ann <ann@example.com>\r\nSubject: Hello\r\n'

const hostile: Record<string, Buffer> = {
  'NUL bytes in all places': bytes(
    'From: A\0nn <a\0nn@exam\0ple.com>\r\nSubject: nul \0 in it\r\nMessage-ID: <a\0b@example.com>\r\nReferences: <\0@x> <c\0@d>\r\nX-\0: \0\r\n\r\nwords \0\0 more\r\n',
  ),
  'NUL in encoded words and names of files': bytes(
    `From: =?utf-8?B?AEEA?= <ann@example.com>\r\nSubject: =?utf-8?Q?a=00b?=\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Disposition: attachment; filename*=utf-8''a%00b.txt\r\nContent-Type: text/calendar; name="=?utf-8?B?AAA=?="\r\n\r\nBEGIN:VCALENDAR\0\r\nBEGIN:VEVENT\r\nUID:\0\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n--x--\r\n`,
  ),
  'halves of surrogate pairs': bytes(
    'From: =?utf-16be?B?2AAAQQ==?= <ann@example.com>\r\nSubject: =?utf-16be?B?2AA=?= \xed\xa0\x80\r\nContent-Type: text/plain; charset=utf-16le\r\nContent-Transfer-Encoding: base64\r\n\r\nANgAQQDc\r\n',
  ),
  'bytes that are no UTF-8': bytes(`${head}Content-Type: text/plain; charset=utf-8\r\n\r\n\xff\xfe \xc3\x28 \xf8\x88\x80\x80\x80\r\n`),
  'an escape that JSON knows': bytes('From: "\\u0000" <ann@example.com>\r\nSubject: \\u0000 \\ud800 {"a":"\\\\"}\r\n\r\n\\u0000\r\n'),
  'eight bits in the head': bytes('From: J\xfcrgen <ann@example.com>\r\nSubject: Gr\xfc\xdfe\r\nX-\xff\xfe: \x80\x81\r\n\r\nwords\r\n'),
  'a huge name of a header field': bytes(`${head}${'X'.repeat(200_000)}: 1\r\n\r\nwords\r\n`),
  'one that is huger than a head may be': bytes(`${head}${'X'.repeat(300_000)}: 1\r\n\r\nwords\r\n`),
  'lines without an end': bytes(`${head}X-Long: ${'y '.repeat(50_000)}\r\n\r\n${'z'.repeat(2_000_000)}\r\n`),
  'control characters': bytes(
    `${Array.from({ length: 31 }, (_, code) => `X-C${code}: ${code === 9 || code === 12 ? '' : String.fromCharCode(code + 1).replace(/[\r\n]/, '')}`).join('\r\n')}\r\n${head}\r\n\x1b[2J\x07\x08\r\n`,
  ),
  'a signature of nobody': bytes(
    `DKIM-Signature: v=1; a=rsa-sha256; d=ex\0am\xed\xb0\x80ple.com; s=\0; h=from; bh=eA==; b=eQ==\r\nARC-Seal: i=99999999999; \0\r\n${head}\r\nwords\r\n`,
  ),
  'nothing but dots and line ends': bytes('..\r\n..\r\n\r\n\r\n'),
}

test('whatever the bytes are, a message is refused or filed as it is, and never stays in the spool', async () => {
  const project = await app.newProject()
  const { body: mailbox } = await project.post('/mailboxes', { type: 'persistent', address: `hostile@${app.services.config.MAIL_DOMAIN}` })
  const answers = new Map<string, string>()
  for (const [name, raw] of Object.entries(hostile)) answers.set(name, await send(mailbox.address, raw))
  const refused = [...answers].filter(([, answer]) => !answer.startsWith('250'))
  assert.deepEqual(
    refused.map(([name, answer]) => [name, answer.slice(0, 3)]),
    [['one that is huger than a head may be', '554']],
  )
  assert.match(await send(mailbox.address, bytes(`${head}\r\nthe next one\r\n`)), /^250/)
  const emails = await until('all are filed', async () => {
    const rows = await database.many<{ text_body: string | null; handler_results: object | null }>`
      select ${emailText} as text_body, handler_results from emails e where project_id = ${project.id} order by position`
    return rows.length === answers.size ? rows : null
  })
  assert.equal((await database.first<{ count: number }>`select count(*) from inbound_spool where next_attempt_at is not null`)?.count, 0)
  assert.ok(emails.some(({ text_body }) => text_body?.trim() === 'the next one'))
  assert.deepEqual(
    emails.map(({ handler_results }) => handler_results).filter((results) => results !== null),
    [],
  )
})

test('mail that is hard to read for what it may report keeps the program from nothing else', async () => {
  const project = await app.newProject()
  const { body: mailbox } = await project.post('/mailboxes', { type: 'persistent', address: `slow@${app.services.config.MAIL_DOMAIN}` })
  const quotes = ` ${"'".repeat(960)}\r\n`.repeat(30)
  const hard: [from: string, raw: Buffer][] = [
    ['ann@example.com', bytes(`From: Ann <ann@example.com>\r\nSubject: complaint about message from\r\n${quotes} x\r\n\r\n`)],
    ['', bytes(`${head}\r\n${'\r\n'.repeat(130_000)}x`)],
    ['', bytes(`${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--\r\n'.repeat(65_000)}x`)],
    ['', bytes(`From: MAILER-DAEMON@example.com\r\nSubject: Undelivered\r\n\r\n${`${"'".repeat(399)}\r\n`.repeat(600)}`)],
  ]
  const began = threadMs()
  for (const [from, raw] of hard) assert.match(await send(mailbox.address, raw, from), /^250/)
  const emails = await until('all are filed', async () => {
    const rows = await database.many<{ handler_results: object | null }>`
      select handler_results from emails where project_id = ${project.id}`
    return rows.length === hard.length ? rows : null
  })
  // Of this thread, which takes requests and mail and files it: what the bytes of four messages cost by themselves.
  const spent = threadMs() - began
  assert.ok(spent < 1_500, `${spent} ms`)
  assert.deepEqual(new Set(emails.map(({ handler_results }) => handler_results)), new Set([null]))
})

test('a post that a member signs with DKIM comes in over SMTP and waits for approval', async () => {
  const { project, list, path } = await newList(app, {})
  const editor = await project.addMember('editor')
  const letter = letterOf({ from: editor.email, to: list.mailbox_address, subject: 'News of May', html: '<p>Dear readers</p>' })
  await project.events()
  assert.match(await send(list.mailbox_address, Buffer.from(letter), editor.email), /^250/)
  assert.match(await send(list.mailbox_address, await signing.sign(letter.trimEnd()), editor.email), /^250/)
  const [draft] = await until('there is a draft', async () => {
    const { body } = await project.get(path)
    return body.length > 0 ? body : null
  })
  assert.deepEqual([draft.subject, draft.status, draft.source, draft.needs_approval], ['News of May', 'draft', 'email', true])
  const results = await until('both are filed', async () => {
    const rows = await database.many<{ post: { status: string } }>`
      select handler_results->'post' as post from emails where project_id = ${project.id}`
    return rows.length === 2 ? rows : null
  })
  assert.deepEqual(results.map(({ post }) => post.status).sort(), ['drafted', 'refused'])
  assert.deepEqual((await project.events()).sort(), ['contact.created', 'email.received', 'email.received', 'post.created'])
})

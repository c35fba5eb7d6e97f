import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatId, newId } from '../../base/ids.ts'
import { threadMs } from '../../base/thread-time.ts'
import { parseMail } from '../inbound/parse-mail.ts'
import { isWorthALook, readBackchannel } from './read-backchannel.ts'
import { readParts } from './read-parts.ts'

const token = '33ff04hmasw9nc0s6ksv248q48nk6d248nancskbv8nrqagmyj6b'
const copy = newId<'dlv'>()
const mailOf = (head: string[], body: string) => Buffer.from([...head, '', body].join('\r\n'))
const personal = ['From: Ann <ann@example.org>', 'To: news@posthaste.test']
const systems = ['From: MAILER-DAEMON@example.org', 'Subject: Undelivered Mail Returned to Sender']

test('a report comes with the token that it has in it, a wish with what it names and quotes, other mail with neither', async () => {
  const notice = `<ann@example.org>: 550 5.1.1 user unknown\r\n\r\n--- Below is a copy of the message.\r\n\r\nReturn-Path: <b+${token}@posthaste.test>`
  const bounce = await readBackchannel(mailOf(systems, notice))
  assert.deepEqual([bounce?.is_bounce, bounce?.report?.kind, bounce?.return_token, bounce?.wish], [true, 'bounce', token, null])
  const answered = [...personal, 'Subject: Re: Hello', `In-Reply-To: <${formatId('dlv', copy)}@posthaste.test>`]
  const links = `> https://posthaste.test/u/${token} https://posthaste.test/u/${token.toUpperCase()}`
  assert.deepEqual(await readBackchannel(mailOf(answered, `STOP\r\n\r\n${links}`)), {
    is_bounce: false,
    report: null,
    return_token: null,
    wish: { from: 'ann@example.org', copies: [copy], tokens: [token] },
  })
  assert.equal((await readBackchannel(mailOf(answered, 'Thanks for the letter!')))?.wish, null)
  assert.equal((await readBackchannel(mailOf([...answered, 'Auto-Submitted: auto-replied'], 'STOP')))?.wish, null)
})

test('only what may be a report or a wish is read for it', async () => {
  const worth = async (head: string[], body: string, { envelope_from = 'ann@example.org', to = 'news@posthaste.test' } = {}) =>
    isWorthALook(await parseMail(mailOf(head, body)), { envelope_from, recipients: ['you@posthaste.test', to] })
  assert.equal(await worth([...personal, 'Subject: Hi'], 'Hello'), false)
  assert.equal(await worth([...personal, 'Subject: Hi'], `Please stop. ${'Words. '.repeat(100)}`), false)
  assert.equal(await worth([...personal, 'Subject: Hi'], 'Please stop.'), true)
  assert.equal(await worth([...personal, 'Subject: Hi', 'Auto-Submitted: auto-replied'], 'Please stop.'), false)
  assert.equal(await worth([...personal, 'Subject: Complaint about message from 192.0.2.1'], 'Hello'), true)
  assert.equal(await worth(systems, 'Hello'), true)
  assert.equal(await worth([...personal, 'Subject: Hi'], 'Hello', { envelope_from: '' }), true)
  for (const prefix of ['b', 'unsubscribe'])
    assert.equal(await worth([...personal, 'Subject: Hi'], 'Hello', { to: `${prefix}+${token}@posthaste.test` }), true, prefix)
  assert.equal(await worth([...personal, 'Subject: Hi'], 'Hello', { to: `reply+${token}@posthaste.test` }), false)
})

test('subjects, values and lines are bounded; of the mails in a thread the last are kept', async () => {
  const folded = (name: string, word: string) =>
    `${name}: ${Array.from({ length: 20 }, () => word.repeat(900 / word.length)).join('\r\n ')}`
  const last = `References: ${Array.from({ length: 500 }, (_, number) => `<${number}.${'r'.repeat(30)}@example.org>`).join('\r\n ')}`
  const head = [...personal, folded('Subject', 's'), folded('X-Long', 'x'), last]
  const parts = await readParts(mailOf(head, `${'.\r\n'.repeat(4_900)}the end`))
  assert.equal(parts?.subject.length, 1_000)
  assert.deepEqual(
    parts?.headers.filter(({ value }) => value.length > 1_000).map(({ name, value }) => [name, value.length]),
    [
      ['subject', 10_000],
      ['x-long', 10_000],
      ['references', 10_000],
    ],
  )
  assert.match(parts?.headers.find(({ name }) => name === 'references')?.value ?? '', /<499\.r+@example\.org>$/)
  assert.equal(parts?.text.trim().endsWith('.'), true, 'the last of 5,000 lines and more is not read')
  assert.match((await readParts(mailOf(personal, `${'.\r\n'.repeat(4_900)}the end`)))?.text ?? '', /the end\n$/)
})

const fold = (text: string) => text.replace(/.{900}/gs, '$&\r\n ')
const multipart = 'Content-Type: multipart/mixed; boundary=b'
const hostile: Record<string, Buffer> = {
  'a subject of apostrophes': mailOf([...personal, `Subject: complaint about message from ${fold("'".repeat(100_000))} x`], ''),
  'a subject of blanks and hyphens': mailOf([...personal, `Subject: stop ${fold('- '.repeat(50_000))} x`], ''),
  'a subject of encoded words': mailOf([...personal, `Subject:${'\r\n =?utf-8?q?a?='.repeat(4_000)}`], ''),
  'an address field of brackets': mailOf([`From: ${fold('<"(,'.repeat(25_000))}`, 'Subject: Undelivered'], ''),
  'a type with thousands of parameters': mailOf([...systems, `Content-Type: multipart/report${';\r\n report-type*0=a'.repeat(4_000)}`], ''),
  'empty lines': mailOf(systems, '\r\n'.repeat(130_000)),
  'empty lines of one letter': mailOf(systems, '\n'.repeat(260_000)),
  'lines of dashes': mailOf([...systems, multipart], '--\n'.repeat(86_000)),
  'empty parts': mailOf([...systems, multipart], '--b\n\n'.repeat(52_000)),
  'parts in parts': mailOf(
    [...systems, 'Content-Type: multipart/mixed; boundary=n0'],
    Array.from({ length: 5_000 }, (_, depth) => `--n${depth}\r\nContent-Type: multipart/mixed; boundary=n${depth + 1}\r\n\r\n`).join(''),
  ),
  'quoted-printable of short lines': mailOf([...systems, 'Content-Transfer-Encoding: quoted-printable'], '=\r\n'.repeat(86_000)),
  'quotes where an address should begin': mailOf(systems, `550 no\r\n${`${"'".repeat(399)}\r\n`.repeat(600)}`),
  'many recipients of whom nothing is said': mailOf(
    systems,
    Array.from({ length: 50 }, (_, number) => `a${number}@example.org ${'user '.repeat(40)}\r\n`).join('\r\n'),
  ),
  'words of all rules': mailOf(systems, 'mailbox recipient account user is has been was host '.repeat(5_000)),
  'rules before blanks': mailOf([...personal, 'Subject: Hi'], `--${' '.repeat(190)}x\r\n`.repeat(1_300)),
  'quoted names of nobody': mailOf([...personal, 'Subject: Hi'], `<${'@'.repeat(290)}:\r\n`.repeat(880)),
  'a year and its hours': mailOf([...personal, 'Subject: Hi'], `2026年${'1:'.repeat(145)}\r\n`.repeat(880)),
  'HTML that never closes': mailOf([...systems, 'Content-Type: text/html'], '<blockquote><style><td><!-'.repeat(10_000)),
}

test('no mail costs more than a moment of a processor, whatever its lines and letters are', async (t) => {
  for (const [name, raw] of Object.entries(hostile)) {
    const began = threadMs()
    const read = await readBackchannel(raw)
    const spent = threadMs() - began
    assert.equal(read === null, name === 'parts in parts', name)
    t.diagnostic(`${name}: ${spent.toFixed(0)} ms`)
    assert.ok(spent < 1_000, `${name}: ${spent} ms`)
  }
})

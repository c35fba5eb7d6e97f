import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { ledgerOf, newSentPost, suppressionsOf, type TestRecipient } from '../../../tests/support/recipients.ts'
import { assertCounts } from '../../../tests/support/subscribers.ts'
import type { DeliveryTokens } from '../../base/delivery-token.ts'
import { readBackchannel } from '../../mail/reports/read-backchannel.ts'
import { applyBackchannelMail } from './apply-inbound.ts'

const app = await startApp()
const host = 'posthaste.test'

/** A report as it was seen, about this recipient: the token and the address in it are theirs. */
const fixture = (name: string, { tokens, email }: TestRecipient): Buffer => {
  const text = readFileSync(new URL(`../../mail/reports/fixtures/${name}.eml`, import.meta.url), 'latin1')
  return Buffer.from(
    text.replace(/33ff04hmasw9nc0s6ksv248q48nk6d248nancskbv8nrqagmyj6b/g, tokens.return_path).replace(/ann@example\.org/g, email),
    'latin1',
  )
}
const verp = ({ tokens }: TestRecipient) => `b+${tokens.return_path}@${host}`
const forged = (recipient: TestRecipient): TestRecipient => ({
  ...recipient,
  tokens: Object.fromEntries(
    Object.entries(recipient.tokens).map(([purpose, token]) => [purpose, `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`]),
  ) as DeliveryTokens,
})
const apply = async (envelope_to: string, raw: Buffer | string, envelope_from = '') =>
  applyBackchannelMail(app.services, { envelope_to, envelope_from, content: await readBackchannel(Buffer.from(raw)) })
const letter = ({
  from,
  subject = 'Re: Hello',
  headers = [],
  text,
}: {
  from: string
  subject?: string
  headers?: string[]
  text: string
}) =>
  [
    `From: Reader <${from}>`,
    `To: news@${host}`,
    `Subject: ${subject}`,
    'Message-ID: <1@example.org>',
    ...headers,
    'Content-Type: text/plain; charset=utf-8',
    '',
    text,
    '',
  ].join('\r\n')

test('a bounce to the return path is applied by its token, in whatever case, and once', async () => {
  const { project, list, first } = await newSentPost(app)
  const raw = fixture('dsn-postfix-user-unknown', first)
  assert.equal(await apply(verp(first).toUpperCase(), raw), 'bounce')
  assert.equal(await apply(verp(first), raw), 'bounce')
  assert.deepEqual(await project.events(), ['email.bounced'])
  await assertCounts(app, project, list.id, { bounced: 1 })
  assert.deepEqual(await suppressionsOf(project), [[first.email, 'hard_bounce']])
})

test('the ragged ones, the full and the refused mean what the parsers say', async () => {
  const table: [fixture: string, status: string, suppressed: boolean][] = [
    ['qmail', 'bounced', true],
    ['gmail-no-such-user', 'bounced', true],
    ['office365-html-only', 'bounced', true],
    ['gmail-over-quota', 'bounced', false],
    ['outlook-com-blocked', 'bounced', false],
    ['dsn-postfix-delayed', 'delivered', false],
    ['not-ooo-german', 'delivered', false],
    ['not-dmarc-aggregate', 'delivered', false],
  ]
  const { project, recipients } = await newSentPost(app, { subscribers: table.length })
  for (const [index, [name, status, isSuppressed]] of table.entries()) {
    const recipient = recipients[index] as TestRecipient
    await apply(verp(recipient), fixture(name, recipient))
    assert.equal((await ledgerOf(app, project, recipient))?.status, status, name)
    const suppressed = (await suppressionsOf(project)).map(([email]) => email)
    assert.equal(suppressed.includes(recipient.email), isSuppressed, name)
  }
})

test('a complaint to the address for all finds its recipient by the token in the mail it is about, even redacted', async () => {
  for (const name of ['arf-abuse', 'arf-redacted']) {
    const { project, list, first } = await newSentPost(app)
    assert.equal(await apply(`abuse@${host}`, fixture(name, first), 'feedback@isp.example'), 'complaint', name)
    assert.deepEqual(await project.events(), ['email.complained', 'subscriber.unsubscribed'], name)
    await assertCounts(app, project, list.id, { unsubscribed: 1 })
    assert.deepEqual(await suppressionsOf(project), [[first.email, 'complaint']])
  }
  const { project, first } = await newSentPost(app)
  assert.equal(await apply(`abuse@${host}`, fixture('arf-not-spam', first), 'feedback@isp.example'), null)
  assert.deepEqual(await project.events(), [])
})

test('mail to the unsubscribe address unsubscribes: empty, from another address, written by a program; a bounce there does not', async () => {
  const { project, list, recipients } = await newSentPost(app, { subscribers: 3 })
  const [one, two, three] = recipients as [TestRecipient, TestRecipient, TestRecipient]
  const to = ({ tokens }: TestRecipient) => `unsubscribe+${tokens.unsubscribe}@${host}`
  assert.equal(await apply(to(one), letter({ from: 'alias@example.net', subject: '', text: '' }), 'alias@example.net'), 'unsubscribe')
  const generated = letter({ from: two.email, subject: 'unsubscribe', headers: ['Auto-Submitted: auto-generated'], text: 'By Mail.' })
  assert.equal(await apply(to(two), generated, two.email), 'unsubscribe')
  assert.equal(await apply(to(one), letter({ from: one.email, text: 'again' }), one.email), 'unsubscribe')
  assert.equal(await apply(to(three), letter({ from: three.email, text: 'x' }), ''), null)
  assert.equal(await apply(to(three), fixture('dsn-postfix-user-unknown', three), 'x@example.org'), null)
  assert.deepEqual(await project.events(), ['subscriber.unsubscribed', 'subscriber.unsubscribed'])
  await assertCounts(app, project, list.id, { active: 1, unsubscribed: 2 })
})

test('a reply that says STOP unsubscribes whom the quoted mail was sent to, if they wrote it', async () => {
  const { project, list, recipients } = await newSentPost(app, { subscribers: 3 })
  const [one, two, three] = recipients as [TestRecipient, TestRecipient, TestRecipient]
  const quote = ({ tokens }: TestRecipient) =>
    `On Mon, 2 Nov 2026 at 09:00, News <news@posthaste.test> wrote:\r\n> Hello\r\n> Unsubscribe: ${app.url}/u/${tokens.unsubscribe}`
  const to = list.mailbox_address
  const say = (who: TestRecipient, text: string, more: Partial<Parameters<typeof letter>[0]> = {}) =>
    apply(to, letter({ from: who.email, text, ...more }), who.email)
  assert.equal(await say(one, `Please don't stop, I love it\r\n\r\n${quote(one)}`), null)
  assert.equal(await say(one, `STOP\r\n\r\n${quote(one)}`, { headers: ['Auto-Submitted: auto-replied'] }), null)
  assert.equal(await say(one, 'STOP'), null, 'nothing says which mail it answers')
  assert.equal(await say(two, `STOP\r\n\r\n${quote(one)}`), null, 'somebody it was passed on to')
  assert.equal(await say(one, `STOP\r\n\r\n${quote(forged(one))}`), null, 'forged')
  assert.deepEqual(await project.events(), [])
  assert.equal(await say(one, `STOP\r\n\r\n${quote(one)}`), 'unsubscribe')
  assert.equal(await apply(verp(three), letter({ from: 'else@example.net', text: 'unsubscribe' }), 'else@example.net'), 'unsubscribe')
  assert.deepEqual(await project.events(), ['subscriber.unsubscribed', 'subscriber.unsubscribed'])
  await assertCounts(app, project, list.id, { active: 1, unsubscribed: 2 })
  assert.deepEqual(await suppressionsOf(project), [])
})

test('forged tokens, other addresses and rubbish are for people to read', async () => {
  const { project, list, first } = await newSentPost(app)
  const none = forged(first)
  const raw = fixture('dsn-postfix-user-unknown', none)
  assert.equal(await apply(verp(none), raw), null)
  assert.equal(await apply(`postmaster@${host}`, raw), null)
  assert.equal(await apply(`unsubscribe+${none.tokens.unsubscribe}@${host}`, letter({ from: first.email, text: '' }), first.email), null)
  assert.equal(await apply(`abuse@${host}`, fixture('arf-abuse', none), 'feedback@isp.example'), null)
  for (const bytes of [Buffer.alloc(0), Buffer.from('\0\0\0'), Buffer.alloc(300_000, 'x')])
    assert.equal(await apply(verp(first), bytes), null)
  assert.deepEqual(await project.events(), [])
  await assertCounts(app, project, list.id, { active: 1 })
})

test('a token of one place is none in another: whoever is passed a mail on can neither report a bounce of it nor unsubscribe its reader', async () => {
  const { project, list, first } = await newSentPost(app)
  const { click, open, unsubscribe, return_path } = first.tokens
  const dead = (token: string) => fixture('dsn-postfix-user-unknown', { ...first, tokens: { ...first.tokens, return_path: token } })
  for (const token of [click, open, unsubscribe]) assert.equal(await apply(`b+${token}@${host}`, dead(token)), null)
  for (const token of [click, open, unsubscribe]) {
    const about = { ...first, tokens: { ...first.tokens, return_path: token } }
    assert.equal(await apply(`abuse@${host}`, fixture('arf-abuse', about), 'feedback@isp.example'), null)
  }
  for (const token of [click, open, return_path])
    assert.equal(await apply(`unsubscribe+${token}@${host}`, letter({ from: first.email, text: '' }), first.email), null)
  const say = (quoted: string) => apply(list.mailbox_address, letter({ from: first.email, text: `STOP\r\n\r\n> ${quoted}` }), first.email)
  for (const quoted of [`${app.url}/o/${open}.gif`, `b+${return_path}@${host}`]) assert.equal(await say(quoted), null, quoted)
  assert.deepEqual(await project.events(), [])
  // Every link of the quoted mail will do, as before.
  assert.equal(await say(`${app.url}/c/${click}/0`), 'unsubscribe')
  assert.deepEqual(await project.events(), ['subscriber.unsubscribed'])
})

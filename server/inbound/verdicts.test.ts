import assert from 'node:assert/strict'
import { Resolver } from 'node:dns/promises'
import { after, test } from 'node:test'
import { startDnsPeer } from '../../tests/support/dns-peer.ts'
import { createSigningDomain } from '../../tests/support/signed-mail.ts'
import { threadMs } from '../base/thread-time.ts'
import { parseMail } from '../mail/inbound/parse-mail.ts'
import { createJudge, type ToJudge } from './verdicts.ts'

const signing = createSigningDomain('example.org')
const stranger = createSigningDomain('example.net')
const dns = await startDnsPeer({
  ...signing.names,
  ...stranger.names,
  'example.org': { TXT: ['v=spf1 ip4:192.0.2.1 -all'] },
  '_dmarc.example.org': { TXT: ['v=DMARC1; p=reject'] },
  'example.net': { TXT: ['v=spf1 ip4:192.0.2.1 -all'] },
  'bounces.example.net': { TXT: ['v=spf1 ip4:192.0.2.1 -all'] },
  'mx.example.com': { TXT: ['v=spf1 ip4:192.0.2.1 -all'] },
  'hanging.test': { fails: 'silence' },
  'test._domainkey.hanging.test': { fails: 'silence' },
  '_dmarc.hanging.test': { fails: 'silence' },
  '_dmarc.test': { fails: 'silence' },
})
after(() => dns.close())
const resolver = new Resolver({ timeout: 200, tries: 1 })
resolver.setServers([dns.address])
const judge = createJudge({ resolver, mailDomain: 'posthaste.test', places: 32 })

const mail = (from: string, more = '') =>
  `From: ${from}\r\nTo: bob@posthaste.test\r\nSubject: Hi\r\nDate: Mon, 16 Nov 2026 09:30:00 +0100\r\nMessage-ID: <1@example.org>\r\n${more}\r\nHello\r\n`

async function judged(raw: string | Buffer, message: Partial<ToJudge> = {}) {
  const bytes = Buffer.from(raw)
  const { from } = await parseMail(bytes)
  return judge({ raw: bytes, envelope_from: 'ann@example.org', address: '192.0.2.1', helo: 'mx.example.com', from, ...message })
}

test('a signed message from where its domain sends is vouched for by all', async () => {
  assert.deepEqual(await judged(await signing.sign(mail('Ann <ann@example.org>'))), {
    spf: { result: 'pass', domain: 'example.org' },
    dkim: [{ result: 'pass', domain: 'example.org', selector: 'test' }],
    dmarc: { result: 'pass', policy: 'reject', domain: 'example.org' },
    arc: { result: 'none' },
    authenticated_domain: 'example.org',
  })
})

test('our own Received line on top takes nothing away, and a changed body does', async () => {
  const signed = await signing.sign(mail('ann@example.org'))
  const onTop = Buffer.concat([Buffer.from('Received: from a by b;\r\n Mon, 16 Nov 2026 09:31:00 +0100\r\n'), signed])
  assert.equal((await judged(onTop, { address: '192.0.2.9' })).authenticated_domain, 'example.org')
  const changed = await judged(Buffer.concat([signed, Buffer.from('and more\r\n')]), { address: '192.0.2.9' })
  assert.deepEqual(
    { dkim: changed.dkim[0]?.result, dmarc: changed.dmarc.result, spf: changed.spf.result, domain: changed.authenticated_domain },
    { dkim: 'neutral', dmarc: 'fail', spf: 'fail', domain: null },
  )
})

test('a head that nobody sends is not judged: to put its lines together would take as long as their number squared', async () => {
  const folded = '\r\n b'.repeat(60_000)
  for (const more of [`X: a${folded}\r\n`, `DKIM-Signature: v=1; h=from${folded}\r\n`, `${'X: a\r\n'.repeat(1_001)}`]) {
    const began = threadMs()
    const verdicts = await judged(mail('ann@example.org', more))
    assert.ok(threadMs() - began < 1_000, 'of processor time')
    assert.deepEqual([verdicts.spf.result, verdicts.dmarc.result, verdicts.authenticated_domain], ['permerror', 'permerror', null])
  }
})

test('nor are authors without an end, signed or not, in one field or in a head that may be one', async () => {
  const authors = '> On Mon wrote: '.repeat(14_000)
  const signature = 'DKIM-Signature: v=1; a=rsa-sha256; d=example.org; s=test; h=from; bh=x; b=y\r\n'
  for (const raw of [mail(authors), `${signature}${mail(authors)}`, `X: a\rFrom: ${authors.replaceAll(' > ', '\r> ')}\n\nHello`]) {
    const began = threadMs()
    const verdicts = await judge({ raw: Buffer.from(raw), envelope_from: '', address: '192.0.2.1', helo: 'mx.example.com', from: null })
    assert.ok(threadMs() - began < 300, 'of processor time')
    assert.equal(verdicts.dmarc.result, 'permerror')
  }
})

test('nor is a gap without an end in what did not come over SMTP', async () => {
  const began = threadMs()
  const { spf, dmarc } = await judged(`From: ann@example.org${'\r'.repeat(100_000)}DKIM-Signature: v=1\r\n`)
  assert.deepEqual([spf.result, dmarc.result], ['permerror', 'permerror'])
  assert.ok(threadMs() - began < 1_000, 'it would take ten seconds')
})

test('SPF alone vouches for the same domain, and for another only where a policy says how far', async () => {
  assert.equal((await judged(mail('ann@example.org'))).authenticated_domain, 'example.org')
  assert.equal((await judged(mail('ann@example.net'), { envelope_from: 'ann@example.net' })).authenticated_domain, 'example.net')
  assert.equal((await judged(mail('ann@example.net'), { envelope_from: 'b@bounces.example.net' })).authenticated_domain, null)
  assert.equal((await judged(mail('ann@example.org'), { envelope_from: 'eve@example.net' })).authenticated_domain, null)
})

test('somebody else’s signature vouches for somebody else', async () => {
  const verdicts = await judged(await stranger.sign(mail('ann@example.org')), { envelope_from: 'eve@example.net' })
  assert.deepEqual(verdicts.dkim, [{ result: 'pass', domain: 'example.net', selector: 'test' }])
  assert.equal(verdicts.dmarc.result, 'fail')
  assert.equal(verdicts.authenticated_domain, null)
})

test('two senders, or another for the reader than for the judge, are nobody', async () => {
  const two = await signing.sign(mail('ann@example.org'))
  assert.equal((await judged(Buffer.concat([Buffer.from('From: eve@example.net\r\n'), two]))).authenticated_domain, null)
  assert.equal((await judged(mail('ann@example.org, eve@example.net'))).authenticated_domain, null)
  assert.equal((await judged(mail('ann@example.org'), { from: { name: null, address: 'ceo@example.com' } })).authenticated_domain, null)
  assert.equal((await judged(mail('ann@example.org'), { from: null })).authenticated_domain, null)
})

test('a signature over a part of the body vouches for nothing', async () => {
  const { dkimSign } = await import('mailauth')
  const { generateKeyPairSync } = await import('node:crypto')
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
  dns.names['short._domainkey.example.org'] = {
    TXT: [`v=DKIM1; p=${pair.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`],
  }
  const raw = Buffer.from(mail('ann@example.org'))
  const { signatures } = await dkimSign(raw, {
    signatureData: [
      {
        signingDomain: 'example.org',
        selector: 'short',
        privateKey: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }),
        maxBodyLength: 5,
      },
    ],
  } as never)
  const verdicts = await judged(Buffer.concat([Buffer.from(signatures), raw, Buffer.from('<p>Send money</p>\r\n')]), {
    address: '192.0.2.9',
  })
  assert.equal(verdicts.dkim[0]?.selector, 'short')
  assert.equal(verdicts.authenticated_domain, null)
})

test('without a sender the name of the server counts, and through a relay no address does', async () => {
  const bounce = await judged(mail('mailer-daemon@mx.example.com'), { envelope_from: '' })
  assert.deepEqual(bounce.spf, { result: 'pass', domain: 'mx.example.com' })
  const relayed = await judged(await signing.sign(mail('ann@example.org')), { address: null })
  assert.deepEqual([relayed.spf.result, relayed.authenticated_domain], ['none', 'example.org'])
})

test('a name server that hangs is a passing trouble', async () => {
  const verdicts = await judged(mail('ann@hanging.test'), { envelope_from: 'ann@hanging.test', helo: '[192.0.2.1]' })
  assert.deepEqual([verdicts.spf.result, verdicts.dmarc.result, verdicts.authenticated_domain], ['temperror', 'temperror', null])
})

test('name servers that were silent are not asked about their domain again for a while', async () => {
  for (const name of ['one.mute.test', 'two.mute.test']) dns.names[name] = { fails: 'silence' }
  const spfOf = async (name: string) => (await judged(mail('ann@example.org'), { envelope_from: `ann@${name}` })).spf.result
  assert.equal(await spfOf('one.mute.test'), 'temperror')
  assert.equal(await spfOf('two.mute.test'), 'temperror')
  assert.ok(dns.asked.includes('TXT one.mute.test'))
  assert.ok(!dns.asked.includes('TXT two.mute.test'), String(dns.asked))
  assert.equal(await spfOf('example.org'), 'pass')
})

test('a name server that hangs takes no time from the policy of the domain in From', async () => {
  const patient = new Resolver({ timeout: 20_000, tries: 1 })
  patient.setServers([dns.address])
  const raw = Buffer.from(
    mail('ann@example.org').replace(/^/, 'DKIM-Signature: v=1; a=rsa-sha256; d=hanging.test; s=test; h=from; bh=eA==; b=eQ==\r\n'),
  )
  const { dmarc } = await createJudge({ resolver: patient, mailDomain: 'posthaste.test', places: 32 })({
    raw,
    envelope_from: 'eve@hanging.test',
    address: '192.0.2.9',
    helo: 'mx.example.com',
    from: { name: null, address: 'ann@example.org' },
  })
  assert.deepEqual(dmarc, { result: 'fail', policy: 'reject', domain: 'example.org' })
})

test('what is no mail is judged as well', async () => {
  for (const raw of [
    '',
    '\r\n',
    'From:',
    'From: <>\r\n\r\n',
    'DKIM-Signature: v=1; a=rsa-sha256; b=\r\nFrom: x\r\n\r\nx',
    '\0'.repeat(1_000),
  ]) {
    const verdicts = await judged(raw, { envelope_from: 'not an address', helo: 'not a name\0' })
    assert.equal(verdicts.authenticated_domain, null)
  }
})

test('what strangers call themselves can be stored', async () => {
  const signature = `DKIM-Signature: v=1; a=rsa-sha256; d=ex\0am\udc00ple.com; s=a\0b${'c'.repeat(2_000)}; h=from; bh=eA==; b=eQ==\r\n`
  const verdicts = await judged(`${signature}From: ann@ex\0ample.com\r\nSubject: x\r\n\r\nHi`, { envelope_from: 'a@x\0y.test' })
  assert.equal(verdicts.dkim.length, 1)
  assert.doesNotMatch(JSON.stringify(verdicts), /\\u0000|\\ud[89a-f]/)
  assert.ok(JSON.stringify(verdicts).length < 2_000)
})

test('the questions of a burst are asked once', async () => {
  dns.asked.length = 0
  await Promise.all(Array.from({ length: 20 }, () => judged(mail('ann@example.org'))))
  assert.ok(dns.asked.filter((question) => question === 'TXT example.org').length <= 2, String(dns.asked))
})

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sesKey, sesOutbound, startSesPeer } from '../../../tests/support/ses-peer.ts'
import { until } from '../../../tests/support/until.ts'
import { createTransport } from './index.ts'
import { createSesTransport, type SesLimits } from './ses.ts'
import { parseSesUrl, type SesPlace } from './ses-url.ts'

const token = '0123456789abcdefghjkmnpqrstvwxyz0123456789abcdefghjk'
const envelope = { from: `b+${token}@rp.example.com`, to: 'bob@example.org' }
const message = Buffer.from('From: ann@example.com\r\nTo: bob@example.org\r\nSubject: Hi\r\n\r\nHello\r\n')
const about = { message_id: 'm1@example.com', subject: 'Hi' }

async function connected({ more = '', key, limits }: { more?: string; key?: typeof sesKey; limits?: Partial<SesLimits> } = {}) {
  const peer = await startSesPeer()
  const transport = createSesTransport(sesOutbound(peer, more, key), limits)
  after(() => transport.close().then(() => peer.close()))
  return { peer, transport }
}

test('a message goes out signed, to one recipient, with its token as a tag and a header field', async () => {
  const { peer, transport } = await connected({ more: '&configuration_set=news' })
  const parts = [Buffer.from('From: ann@example.com\r\n'), Buffer.from('Subject: Grüße\r\n\r\nÄ\r\n')]
  assert.deepEqual(await transport.send(envelope, parts, about), {
    kind: 'delivered',
    smtp_code: null,
    response: 'ses-1',
    message_id: 'ses-1@eu-west-1.amazonses.com',
  })
  assert.deepEqual(peer.messages, [
    {
      to: ['bob@example.org'],
      raw: `X-Posthaste-Token: ${token}\r\nFrom: ann@example.com\r\nSubject: Grüße\r\n\r\nÄ\r\n`,
      tags: { 'posthaste-token': token },
      configuration_set: 'news',
    },
  ])
})

test('a message without a return path of its own goes out as it is', async () => {
  const { peer, transport } = await connected()
  assert.equal((await transport.send({ ...envelope, from: 'ann@example.com' }, message, about)).kind, 'delivered')
  assert.equal((await transport.send({ ...envelope, from: '' }, message, about)).kind, 'delivered')
  for (const sent of peer.messages) assert.deepEqual([sent.raw, sent.tags, sent.configuration_set], [message.toString(), {}, null])
})

test('our signatures, which SES would break, are taken off, and nothing else', async () => {
  const { peer, transport } = await connected()
  const signatures = 'DKIM-Signature: v=1; a=rsa-sha256;\r\n\tb=abc\r\n def\r\ndkim-signature: v=1; b=x\r\n'
  const quoted = Buffer.from('Subject: x\r\nDKIM-Signature: theirs\r\n\r\nDKIM-Signature: in the body\r\n')
  await transport.send({ ...envelope, from: '' }, [Buffer.from(signatures), quoted], about)
  await transport.send({ ...envelope, from: '' }, Buffer.from('DKIM-Signature: no end'), about)
  assert.deepEqual(
    peer.messages.map(({ raw }) => raw),
    [quoted.toString(), 'DKIM-Signature: no end'],
  )
})

test('what is not wanted any more when its turn comes is not sent', async () => {
  const { peer, transport } = await connected({ more: '&rate=20' })
  let isWanted = true
  const sending = Array.from({ length: 20 }, () => transport.send(envelope, message, { ...about, isStillWanted: () => isWanted }))
  await Promise.race(sending)
  isWanted = false
  const outcomes = await Promise.all(sending)
  const sent = outcomes.filter(({ kind }) => kind === 'delivered').length
  assert.ok(sent >= 1 && sent < 10, `${sent} were sent`)
  assert.equal(peer.messages.length, sent)
  assert.equal(outcomes.filter((outcome) => outcome.kind === 'deferred' && outcome.isUnbegun).length, 20 - sent)
})

test('whoever keeps the journal is told before the answer, once, and what they throw is thrown', async () => {
  const { peer, transport } = await connected()
  const told: string[] = []
  const sending = transport.send(envelope, message, { ...about, onAccepted: () => void told.push('accepted') })
  await sending.then(() => told.push('answered'))
  assert.deepEqual(told, ['accepted', 'answered'])
  const onAccepted = () => {
    throw new Error('disk full')
  }
  await assert.rejects(transport.send(envelope, message, { ...about, onAccepted }), /disk full/)
  peer.next({ error: 'TooManyRequestsException' })
  assert.equal((await transport.send(envelope, message, { ...about, onAccepted })).kind, 'deferred')
  assert.equal((await transport.send(envelope, message, about)).kind, 'delivered', 'its place is free again')
})

test('addresses: IDN in A-labels; what SES cannot take, or could read as two, is not even tried', async () => {
  const { peer, transport } = await connected()
  assert.equal((await transport.send({ ...envelope, to: 'bob@bücher.example' }, message, about)).kind, 'delivered')
  assert.deepEqual(peer.messages[0]?.to, ['bob@xn--bcher-kva.example'])
  const wrong: [to: string, code: string][] = [
    ['用户@example.org', '5.6.7'],
    ['a@example.org,b@example.net', '5.1.3'],
    ['a,b@example.net', '5.1.3'],
    ['"a"@example.net', '5.1.3'],
    ['a@b.c>\r\nTo: eve@example.net', '5.1.3'],
    ['a b@example.org', '5.1.3'],
    ['nobody', '5.1.3'],
    ['', '5.1.3'],
  ]
  for (const [to, code] of wrong) {
    const outcome = await transport.send({ ...envelope, to }, message, about)
    assert.ok(outcome.kind === 'bounced', to)
    assert.equal(outcome.enhanced_code, code, to)
  }
  assert.equal(peer.messages.length, 1)
})

test('no more at once than there are connections, which are used again; lanes take turns', async () => {
  const { peer, transport } = await connected({ more: '&connections=2&rate=100000' })
  peer.next({ waitMs: 50 }, { waitMs: 50 })
  const many = Array.from({ length: 20 }, (_, index) =>
    transport.send({ ...envelope, to: `r${index}@example.org` }, message, { ...about, lane: 'post' }),
  )
  const single = transport.send({ ...envelope, to: 'single@example.org' }, message, about)
  for (const outcome of await Promise.all([...many, single])) assert.equal(outcome.kind, 'delivered')
  assert.equal(peer.mostAtOnce, 2)
  assert.equal(peer.connections, 2)
  assert.ok(peer.messages.findIndex(({ to }) => to[0] === 'single@example.org') < 6)
  assert.equal(new Set(peer.messages.map(({ to }) => to[0])).size, 21)
})

test('as fast as OUTBOUND says; else as fast as the account may; else as it comes', async () => {
  const count = 8
  const sendMany = async (outbound: { more?: string; account?: object }) => {
    const { peer, transport } = await connected({ more: outbound.more ?? '' })
    if (outbound.account) peer.account = outbound.account as typeof peer.account
    const began = performance.now()
    await Promise.all(Array.from({ length: count }, () => transport.send(envelope, message, about)))
    assert.equal(peer.messages.length, count)
    return { ms: performance.now() - began, asked: peer.asked.filter((line) => line === 'GET /v2/email/account').length }
  }
  // Never sooner, that is: how much later is the machine's affair.
  const shortest = ((count - 2) * 1000) / 20 - 20
  const said = await sendMany({ more: '&rate=20' })
  assert.ok(said.ms >= shortest, `${said.ms}`)
  assert.equal(said.asked, 0)
  const asked = await sendMany({ account: { SendQuota: { MaxSendRate: 20 } } })
  assert.ok(asked.ms >= shortest, `${asked.ms}`)
  assert.equal(asked.asked, 1, 'once for all')
  assert.equal((await sendMany({ account: { error: 'AccessDeniedException', status: 403 } })).asked, 1)
})

test('verify says yes to an account that sends, and what to do about one that does not', async () => {
  const { peer, transport } = await connected()
  await transport.verify()
  const good = peer.account
  const table: [account: typeof peer.account, sentence: RegExp][] = [
    [{ ...(good as object), SendingEnabled: false }, /has stopped sending for this account in eu-west-1; its console tells why\.$/],
    [{ ...(good as object), EnforcementStatus: 'SHUTDOWN' }, /has stopped sending/],
    [{ ...(good as object), ProductionAccessEnabled: false }, /is a sandbox.*Request production access/],
    [{ error: 'AccessDeniedException', status: 403 }, /The key may not .*ses:SendEmail.*\(Amazon SES, eu-west-1: 403 AccessDenied/],
    [503, /trouble of its own/],
  ]
  for (const [account, sentence] of table) {
    peer.account = account
    await assert.rejects(transport.verify(), sentence)
  }
})

test('a wrong secret defers and says so, and is not repeated', async () => {
  const { transport } = await connected({ key: { ...sesKey, secret: 'hunter2' } })
  const outcome = await transport.send(envelope, message, about)
  assert.ok(outcome.kind === 'deferred')
  assert.match(outcome.reason, /refused the key; check key and secret in OUTBOUND/)
  assert.ok(!JSON.stringify(outcome).includes('hunter2'))
  await assert.rejects(transport.verify(), /refused the key/)
})

test('close waits for what is under way, gives up what waits, and refuses what comes after', async () => {
  const { peer, transport } = await connected({ more: '&connections=1&rate=1000' })
  peer.next({ waitMs: 200 })
  const first = transport.send(envelope, message, about)
  const second = transport.send(envelope, message, about)
  await until('the first to be on its way', () => peer.asked.length > 0)
  await transport.close()
  assert.equal((await first).kind, 'delivered')
  for (const late of [await second, await transport.send(envelope, message, about)]) {
    assert.ok(late.kind === 'deferred')
    assert.match(late.reason, /shutting down/)
  }
  assert.equal(peer.messages.length, 1)
})

const none = { key: null, endpoint: null, configuration_set: null, rate: null, connections: 20 }
const places: [text: string, place: SesPlace][] = [
  ['ses://eu-west-1', { ...none, region: 'eu-west-1' }],
  ['ses://us-gov-west-1/', { ...none, region: 'us-gov-west-1' }],
  ['ses://AKIA1:a%2Fb%2Bc%3D@eu-west-1', { ...none, region: 'eu-west-1', key: { id: 'AKIA1', secret: 'a/b+c=' } }],
  [
    'ses://eu-west-1?endpoint=https://ses.example/x&configuration_set=my_Set-1&rate=0.5&connections=3',
    { region: 'eu-west-1', key: null, endpoint: 'https://ses.example/x', configuration_set: 'my_Set-1', rate: 0.5, connections: 3 },
  ],
]
for (const [text, place] of places) test(`${text} is understood`, () => assert.deepEqual(parseSesUrl(text), place))

const refused: [text: string, problem: RegExp][] = [
  ['ses://', /names no region|is not a ses/],
  ['ses://ireland', /names no region/],
  ['ses://EU-WEST-1', /names no region/],
  ['ses://eu-west-1:443', /names no region/],
  ['ses://AKIA@eu-west-1', /only one of key and secret/],
  ['ses://:secret@eu-west-1', /only one of key and secret/],
  ['ses://AKIA:secret/x@eu-west-1', /is not a ses|something after/],
  ['ses://AKIA:secret?x@eu-west-1', /names no region|is not a ses|an option/],
  ['ses://AKIA:secret%zz@eu-west-1', /percent sign/],
  ['ses://eu-west-1/inbox', /something after/],
  ['ses://eu-west-1?speed=5', /an option speed, but takes only/],
  ['ses://eu-west-1?Secret0=5', /an option that it does not know/],
  ['ses://eu-west-1?rate=0', /rate/],
  ['ses://eu-west-1?connections=0', /connections/],
  ['ses://eu-west-1?endpoint=ses.example', /an endpoint that is not/],
  ['ses://eu-west-1?configuration_set=a%20b', /a configuration_set that is not/],
]
for (const [text, problem] of refused) {
  test(`OUTBOUND=${text} is refused in one line`, () => {
    assert.throws(
      () => createTransport(text, { storeCapturedMessage: async () => {} }),
      (error: Error) => {
        assert.match(error.message, problem)
        assert.match(error.message, /^OUTBOUND /)
        assert.doesNotMatch(error.message, /secret[/?%0]|\n/i)
        return true
      },
    )
  })
}

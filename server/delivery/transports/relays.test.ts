import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { type SmtpPeer, type SmtpPeerOptions, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { until } from '../../../tests/support/until.ts'
import { parseRelays } from './relay-url.ts'
import { createSmtpTransport } from './smtp.ts'
import type { Transport } from './transport.ts'

const about = { message_id: 'm1@example.com', subject: 'Hi' }
const message = Buffer.from('Subject: Hi\r\n\r\nHello\r\n')

const toClose: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const thing of toClose.splice(0)) await thing.close()
})

async function startPeers(...scripts: SmtpPeerOptions[]): Promise<SmtpPeer[]> {
  const peers = await Promise.all(scripts.map((script) => startSmtpPeer(script)))
  toClose.push(...peers)
  return peers
}

function relay(peers: SmtpPeer[], ...options: string[]): Transport {
  const outbound = peers.map(({ port }, index) => `smtp://127.0.0.1:${port}${options[index] ?? ''}`).join(', ')
  const transport = createSmtpTransport(outbound, { socket_ms: 2000 })
  toClose.unshift(transport)
  return transport
}

const sendMany = (transport: Transport, count: number) =>
  Promise.all(Array.from({ length: count }, (_, index) => transport.send({ from: '', to: `r${index}@example.org` }, message, about)))

const counts = (peers: SmtpPeer[]) => peers.map(({ messages }) => messages.length)

test('the mail is divided by weight', async () => {
  const peers = await startPeers({}, {}, {})
  await sendMany(relay(peers, '?weight=3', '', '?weight=2'), 60)
  assert.deepEqual(counts(peers), [30, 10, 20])
})

test('each relay has its own number of connections', async () => {
  const peers = await startPeers({ atDot: { delayMs: 30 } }, { atDot: { delayMs: 30 } })
  await sendMany(relay(peers, '?connections=1', '?connections=3'), 40)
  assert.deepEqual(
    peers.map(({ connections }) => connections),
    [1, 3],
  )
})

const troubles: [name: string, script: SmtpPeerOptions][] = [
  ['turns the connection away', { atGreeting: '554 5.3.2 no' }],
  ['hangs up at the greeting', { atGreeting: { drop: true } }],
  ['hangs up at MAIL', { atMail: { drop: true } }],
  ['hangs up at EHLO', { atEhlo: '421 4.7.0 no' }],
]

for (const [name, script] of troubles) {
  test(`a relay that ${name}: the other one takes over, and nobody notices`, async () => {
    const peers = await startPeers(script, {})
    const outcomes = await sendMany(relay(peers), 20)
    assert.ok(outcomes.every(({ kind }) => kind === 'delivered'))
    assert.deepEqual(counts(peers), [0, 20])
  })
}

test('a message that one relay may have is not given to another', async () => {
  const peers = await startPeers({ atDot: { drop: true } }, { atDot: { drop: true } })
  const outcomes = await sendMany(relay(peers), 10)
  assert.ok(outcomes.every((outcome) => outcome.kind === 'deferred' && outcome.isUncertain))
  assert.equal(
    peers.reduce((sum, { refused }) => sum + refused.length, 0),
    10,
  )
})

test('a refusal is an answer, not a trouble', async () => {
  const peers = await startPeers({ atRcpt: '550 5.1.1 no' }, { atRcpt: '550 5.1.1 no' })
  const outcomes = await sendMany(relay(peers), 4)
  assert.ok(outcomes.every(({ kind }) => kind === 'bounced'))
  assert.equal(peers.flatMap(({ commands }) => commands.filter((line) => line.startsWith('RCPT'))).length, 4)
})

test('a relay that is back is found by a probe, and gets its share again', async () => {
  let isDown = true
  const peers = await startPeers({ atGreeting: () => (isDown ? '421 4.3.2 busy' : undefined) }, {})
  const transport = relay(peers)
  assert.ok((await sendMany(transport, 4)).every(({ kind }) => kind === 'delivered'))
  assert.deepEqual(counts(peers), [0, 4])
  isDown = false
  await until('the probe has come through', () => peers[0]?.commands.some((line) => line.startsWith('EHLO')))
  await until('it gets mail again', async () => {
    await sendMany(transport, 2)
    return (counts(peers)[0] ?? 0) > 0
  })
})

test('when no relay can be reached the mail is put off', async () => {
  const peers = await startPeers({}, {})
  const transport = relay(peers)
  for (const peer of peers) await peer.close()
  const outcomes = await sendMany(transport, 6)
  assert.ok(outcomes.every((outcome) => outcome.kind === 'deferred' && /Nothing answers/.test(outcome.reason)))
  await assert.rejects(transport.verify(), /Nothing answers at the relay/)
})

test('verify names the relay that fails', async () => {
  const peers = await startPeers({}, { atEhlo: '550 no' })
  await assert.rejects(relay(peers).verify(), new RegExp(`turned the connection away.*127\\.0\\.0\\.1:${peers[1]?.port}`))
})

const logins: [offered: string, option: string, sent: RegExp][] = [
  ['PLAIN LOGIN', '', /^AUTH PLAIN \S+$/],
  ['LOGIN', '', /^AUTH LOGIN$/],
  ['LOGIN PLAIN', '?auth=login', /^AUTH LOGIN$/],
  ['OAUTHBEARER', '', /^AUTH OAUTHBEARER \S+$/],
  ['PLAIN XOAUTH2', '?auth=xoauth2', /^AUTH XOAUTH2 \S+$/],
]

for (const [offered, option, sent] of logins) {
  test(`a login where AUTH is ${offered}${option && ` with ${option}`}`, async () => {
    const [peer] = (await startPeers({ offers: { auth: offered } })) as [SmtpPeer]
    const transport = createSmtpTransport(`smtp://us%40er:t%3Aken@127.0.0.1:${peer.port}${option}`, {})
    toClose.unshift(transport)
    const [outcome] = await sendMany(transport, 1)
    assert.equal(outcome?.kind, 'delivered')
    assert.equal(peer.messages[0]?.login, 'us@er:t:ken')
    assert.ok(peer.commands.some((line) => sent.test(line)))
  })

  test(`a refused login where AUTH is ${offered}${option && ` with ${option}`}`, async () => {
    const [peer] = (await startPeers({
      offers: { auth: offered },
      atAuth: ({ before }) => (before === 0 && /OAUTH/.test(offered) ? '334 eyJzdGF0dXMiOiI0MDEifQ==' : '535 5.7.8 no'),
    })) as [SmtpPeer]
    const transport = createSmtpTransport(`smtp://user:hunter2@127.0.0.1:${peer.port}${option}`, {})
    toClose.unshift(transport)
    const [outcome] = await sendMany(transport, 1)
    assert.ok(outcome?.kind === 'deferred')
    assert.match(outcome.reason, /refused the login/)
    assert.ok(!JSON.stringify(outcome).includes('hunter2'))
  })
}

test('a login that the relay does not offer in a way we speak is not tried', async () => {
  const [peer] = (await startPeers({ offers: { auth: 'GSSAPI NTLM' } })) as [SmtpPeer]
  const transport = createSmtpTransport(`smtp://user:pass@127.0.0.1:${peer.port}`, {})
  toClose.unshift(transport)
  const [outcome] = await sendMany(transport, 1)
  assert.ok(outcome?.kind === 'deferred')
  assert.match(outcome.detail, /GSSAPI NTLM/)
  assert.ok(!peer.commands.some((line) => line.startsWith('AUTH')))
})

test('several relays and their options are read', () => {
  const read = parseRelays('smtp://u:a,b@one.example?weight=2&connections=10&rate=0.5, smtps://two.example?auth=OAUTHBEARER')
  assert.deepEqual(
    read.map(({ relay: { host, port, login }, options }) => ({ host, port, password: login?.password, ...options })),
    [
      { host: 'one.example', port: 587, password: 'a,b', weight: 2, connections: 10, rate: 0.5, auth: null },
      { host: 'two.example', port: 465, password: undefined, weight: 1, connections: null, rate: null, auth: 'OAUTHBEARER' },
    ],
  )
})

const refused: [text: string, problem: RegExp][] = [
  ['smtp://a?weight=0', /a weight that is not a whole number from 1/],
  ['smtp://a?weight=2.5', /a weight/],
  ['smtp://a?connections=many', /a connections that is not/],
  ['smtp://a?rate=0', /a rate that is not/],
  ['smtp://a?rate=-1', /question mark/],
  ['smtp://a?auth=secret', /an auth that is none of plain, login/],
  ['smtp://a?pool=1', /the option pool, but takes only weight, connections, rate, auth/],
  ['smtp://a?weight=1?rate=2', /question mark/],
  ['smtp://u:1?weight=secret@a', /question mark/],
  ['smtp://a,smtp://b,smtp://A:587', /a:587 twice/],
  ['smtp://a,smtp://', /names no host|is not an smtp/],
  ['smtp://a,', /a comma that no address follows/],
  ['smtp://a,b', /a comma that no address follows/],
  ['smtp://a:25,b:25', /is not an smtp|a comma/],
]

for (const [text, problem] of refused) {
  test(`OUTBOUND=${text} is refused in one line`, () => {
    assert.throws(
      () => parseRelays(text),
      (error: Error) => {
        assert.match(error.message, problem)
        assert.match(error.message, /^OUTBOUND /)
        assert.doesNotMatch(error.message, /secret|\n/)
        return true
      },
    )
  })
}

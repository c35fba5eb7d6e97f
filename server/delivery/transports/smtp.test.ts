import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { type SmtpPeer, type SmtpPeerOptions, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { createSmtpTransport, type SmtpLimits } from './smtp.ts'
import type { Envelope, Outcome, Transport } from './transport.ts'

const envelope: Envelope = { from: 'b+token@rp.example.com', to: 'bob@example.org' }
const message = Buffer.from('From: ann@example.com\r\nTo: bob@example.org\r\nSubject: Hi\r\n\r\nHello\r\n.\r\n..dots\r\n')
const about = { message_id: 'm1@example.com', subject: 'Hi' }

const toClose: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const thing of toClose.splice(0)) await thing.close()
})

interface Setup extends SmtpPeerOptions {
  /** The part before the host: "smtp://user:pass@". */
  scheme?: string
  limits?: Partial<SmtpLimits>
}

async function connected({
  scheme = 'smtp://',

  limits = {},
  ...script
}: Setup = {}): Promise<{ peer: SmtpPeer; transport: Transport }> {
  const peer = await startSmtpPeer(script)
  const transport = createSmtpTransport(`${scheme}127.0.0.1:${peer.port}`, { socket_ms: 5000, ...limits })
  toClose.push(transport, peer)
  return { peer, transport }
}

async function sendOnce(setup: Setup, to: Partial<Envelope> = {}): Promise<{ outcome: Outcome; peer: SmtpPeer }> {
  const { peer, transport } = await connected(setup)
  return { outcome: await transport.send({ ...envelope, ...to }, message, about), peer }
}

test('a message arrives byte for byte with its envelope', async () => {
  const { outcome, peer } = await sendOnce({})
  assert.deepEqual(outcome, { kind: 'delivered', smtp_code: 250, response: '250 2.0.0 queued' })
  assert.equal(peer.messages.length, 1)
  const [received] = peer.messages
  assert.equal(received?.from, envelope.from)
  assert.deepEqual(received?.to, [envelope.to])
  assert.equal(received?.raw.toString(), message.toString())
  assert.equal(received?.parameters, '')
})

test('the null sender is sent as <>', async () => {
  const { outcome, peer } = await sendOnce({}, { from: '' })
  assert.equal(outcome.kind, 'delivered')
  assert.ok(peer.commands.includes('MAIL FROM:<>'))
})

test('eight-bit mail and its size are announced to a relay that wants to know', async () => {
  const { peer, transport } = await connected({ offers: { size: 1000 } })
  const eightBit = Buffer.from('Subject: x\r\n\r\nünï\r\n')
  await transport.send(envelope, eightBit, about)
  assert.equal(peer.messages[0]?.parameters, `BODY=8BITMIME SIZE=${eightBit.length}`)
  assert.deepEqual(peer.messages[0]?.raw, eightBit)
})

test('many messages share few connections, with and without pipelining', async () => {
  for (const pipelining of [true, false]) {
    const { peer, transport } = await connected({ offers: { pipelining }, limits: { max_connections: 2 } })
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, index) => transport.send({ ...envelope, to: `r${index}@example.org` }, message, about)),
    )
    assert.ok(outcomes.every((outcome) => outcome.kind === 'delivered'))
    assert.equal(new Set(peer.messages.map((received) => received.to[0])).size, 50)
    assert.ok(peer.connections <= 2)
  }
})

test('a slow relay is waited for', async () => {
  const { outcome } = await sendOnce({ atRcpt: { delayMs: 150 }, atDot: { delayMs: 150 } })
  assert.equal(outcome.kind, 'delivered')
})

test('nothing listens there', async () => {
  const peer = await startSmtpPeer()
  await peer.close()
  const transport = createSmtpTransport(`smtp://127.0.0.1:${peer.port}`)
  toClose.push(transport)
  const outcome = await transport.send(envelope, message, about)
  assert.ok(outcome.kind === 'deferred')
  assert.match(outcome.reason, /Nothing answers at the relay/)
  assert.match(outcome.detail, /ECONNREFUSED/)
  await assert.rejects(
    transport.verify(),
    /^Error: Nothing answers at the relay; check host and port in OUTBOUND\. \(127\.0\.0\.1:\d+: .*ECONNREFUSED/,
  )
})

test('a name that does not exist', async () => {
  const transport = createSmtpTransport('smtp://relay.invalid:2525', { connect_ms: 5000 })
  toClose.push(transport)
  const outcome = await transport.send(envelope, message, about)
  assert.ok(outcome.kind === 'deferred')
  assert.match(outcome.reason, /name of the relay was not found|did not answer in time/)
})

test('a message over the announced size is not even tried', async () => {
  const { outcome, peer } = await sendOnce({ offers: { size: 10 } })
  assert.ok(outcome.kind === 'bounced')
  assert.equal(outcome.smtp_code, 552)
  assert.equal(outcome.enhanced_code, '5.3.4')
  assert.ok(!peer.commands.some((command) => command.startsWith('MAIL')))
})

test('after a refusal the connection serves the next message', async () => {
  const { peer, transport } = await connected({
    atRcpt: ({ line }) => (line.includes('gone') ? '550 5.1.1 no' : undefined),
    limits: { max_connections: 1 },
  })
  assert.equal((await transport.send({ ...envelope, to: 'gone@example.org' }, message, about)).kind, 'bounced')
  assert.equal((await transport.send(envelope, message, about)).kind, 'delivered')
  assert.equal(peer.connections, 1)
})

test('a relay that comes back is used again', async () => {
  const { peer, transport } = await connected({ atDot: ({ before }) => (before === 0 ? { drop: true } : undefined) })
  assert.equal((await transport.send(envelope, message, about)).kind, 'deferred')
  assert.equal((await transport.send(envelope, message, about)).kind, 'delivered')
  assert.equal(peer.messages.length, 1)
})

test('a connection the relay hung up while idle costs nothing, and repeats nothing', async () => {
  const { peer, transport } = await connected({
    atMail: ({ connection, before }) => (connection === 1 && before > 0 ? { drop: true } : undefined),
  })
  assert.equal((await transport.send(envelope, message, about)).kind, 'delivered')
  assert.equal((await transport.send(envelope, message, about)).kind, 'delivered')
  assert.equal(peer.messages.length, 2)
  assert.equal(peer.refused.length, 0)
  assert.equal(peer.connections, 2)
})

test('a relay that drops at random is never given a message twice', async () => {
  const sometimesDrop = ({ before }: { before: number }) => ((before * 7919) % 13 === 0 ? { drop: true as const } : undefined)
  for (const pipelining of [true, false]) {
    const { peer, transport } = await connected({
      offers: { pipelining },
      atMail: sometimesDrop,
      atRcpt: sometimesDrop,
      atDot: sometimesDrop,
    })
    const recipients = Array.from({ length: 200 }, (_, index) => `r${index}@example.org`)
    const outcomes = await Promise.all(recipients.map((to) => transport.send({ ...envelope, to }, message, about)))
    const delivered = recipients.filter((_, index) => outcomes[index]?.kind === 'delivered')
    assert.deepEqual(peer.messages.map((received) => received.to[0]).sort(), delivered.sort())
    const arrived = [...peer.messages, ...peer.refused].map((received) => received.to[0])
    assert.equal(new Set(arrived).size, arrived.length)
    assert.ok(delivered.length > 100)
  }
})

test('a user and password are sent, percent escapes decoded', async () => {
  const { outcome, peer } = await sendOnce({ scheme: 'smtp://us%40er:p%3Ass%2F%23%25@', offers: { auth: true } })
  assert.equal(outcome.kind, 'delivered')
  assert.equal(peer.messages[0]?.login, 'us@er:p:ss/#%')
})

test('a refused login defers and says so, and keeps the password to itself', async () => {
  const { peer, transport } = await connected({ scheme: 'smtp://user:hunter2@', offers: { auth: true }, atAuth: '535 5.7.8 no' })
  const outcome = await transport.send(envelope, message, about)
  assert.ok(outcome.kind === 'deferred')
  assert.equal(outcome.smtp_code, 535)
  assert.match(outcome.reason, /refused the login.*OUTBOUND/)
  assert.ok(!JSON.stringify(outcome).includes('hunter2'))
  assert.ok(!peer.commands.some((command) => command.startsWith('MAIL')))
  await assert.rejects(transport.verify(), /refused the login/)
})

test('a relay that offers no login is not used without one', async () => {
  const { outcome, peer } = await sendOnce({
    scheme: 'smtp://user:pass@',
    atAuth: '502 5.5.1 not here',
    atRcpt: '550 5.7.1 relaying denied',
  })
  assert.equal(outcome.kind, 'deferred')
  assert.ok(!peer.commands.some((command) => command.startsWith('RCPT')))
})

test('an IDN domain goes out in A-labels', async () => {
  const { outcome, peer } = await sendOnce({ offers: { smtputf8: false } }, { to: 'bob@bücher.example' })
  assert.equal(outcome.kind, 'delivered')
  assert.deepEqual(peer.messages[0]?.to, ['bob@xn--bcher-kva.example'])
})

test('a Unicode local part needs SMTPUTF8', async () => {
  const able = await connected({})
  for (const _ of [1, 2])
    assert.equal((await able.transport.send({ ...envelope, to: '用户@example.org' }, message, about)).kind, 'delivered')
  assert.equal(able.peer.messages[0]?.parameters, 'SMTPUTF8')
  assert.deepEqual(able.peer.messages[0]?.to, ['用户@example.org'])
  assert.equal(able.peer.connections, 1, 'the session that offers it is the one that sends')

  const unable = await sendOnce({ offers: { smtputf8: false } }, { to: '用户@example.org' })
  assert.ok(unable.outcome.kind === 'bounced')
  assert.equal(unable.outcome.smtp_code, 553)
  assert.equal(unable.outcome.enhanced_code, '5.6.7')
  assert.ok(!unable.peer.commands.some((command) => command.startsWith('MAIL')))

  const down = await sendOnce({ atGreeting: '421 4.3.2 busy' }, { to: '用户@example.org' })
  assert.equal(down.outcome.kind, 'deferred')
})

test('an address that could break out of its command is never sent', async () => {
  for (const to of ['a@b.c>\r\nRCPT TO:<eve@example.net', 'a b@example.org', 'a@b.c>', 'nobody', '']) {
    const { outcome, peer } = await sendOnce({}, { to })
    assert.ok(outcome.kind === 'bounced')
    assert.equal(outcome.enhanced_code, '5.1.3')
    assert.equal(peer.connections, 0)
  }
  const { outcome } = await sendOnce({}, { from: 'a@b.c>\r\nRSET' })
  assert.equal(outcome.kind, 'deferred')
})

test('one address with a comma in it does not become two recipients', async () => {
  const { peer } = await sendOnce({}, { to: 'a@example.org,b@example.net' })
  assert.ok(peer.commands.filter((command) => command.startsWith('RCPT')).length <= 1)
})

test('verify says yes to a relay that answers', async () => {
  const { transport } = await connected({ scheme: 'smtp://user:pass@', offers: { auth: true } })
  await transport.verify()
})

test('close waits for what is under way and refuses what comes after', async () => {
  const { peer, transport } = await connected({ atDot: { delayMs: 200 }, limits: { socket_ms: 2000 } })
  const sending = transport.send(envelope, message, about)
  while (!peer.refused.length) await new Promise((resolve) => setTimeout(resolve, 5))
  await transport.close()
  assert.equal((await sending).kind, 'delivered')
  const late = await transport.send(envelope, message, about)
  assert.ok(late.kind === 'deferred')
  assert.match(late.reason, /shutting down/)
})

test('close cuts off a relay that trickles for ever', async () => {
  const { peer, transport } = await connected({ atRcpt: { trickle: '250-wait\r\n', everyMs: 20 }, limits: { socket_ms: 300 } })
  const sending = transport.send(envelope, message, about)
  while (!peer.commands.some((command) => command.startsWith('RCPT'))) await new Promise((resolve) => setTimeout(resolve, 5))
  await transport.close()
  assert.equal((await sending).kind, 'deferred')
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, test } from 'node:test'
import { type PeerAction, type SmtpPeer, type SmtpPeerOptions, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { until } from '../../../tests/support/until.ts'
import { createSmtpTransport, type SmtpLimits } from '../transports/smtp.ts'
import type { Outcome, Transport } from '../transports/transport.ts'

const about = { message_id: 'm1@example.com', subject: 'Hi' }
const message = Buffer.from('Subject: Hi\r\n\r\nHello\r\n')

const toClose: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const thing of toClose.splice(0)) await thing.close()
})

async function connected(script: SmtpPeerOptions, limits: Partial<SmtpLimits> = {}): Promise<{ peer: SmtpPeer; transport: Transport }> {
  const peer = await startSmtpPeer(script)
  const transport = createSmtpTransport(`smtp://127.0.0.1:${peer.port}`, { socket_ms: 5000, ...limits })
  toClose.push(transport, peer)
  return { peer, transport }
}

const people = (count: number) => Array.from({ length: count }, (_, index) => `r${index}@example.org`)
const send = (transport: Transport, to: string, more = {}) => transport.send({ from: 'b@example.com', to }, message, { ...about, ...more })

test('1,000 messages over 5 connections arrive once each', async () => {
  const { peer, transport } = await connected({})
  const accepted: string[] = []
  const outcomes = await Promise.all(people(1000).map((to) => send(transport, to, { onAccepted: () => accepted.push(to) })))
  assert.ok(outcomes.every(({ kind }) => kind === 'delivered'))
  assert.deepEqual(peer.messages.map(({ to }) => to[0]).sort(), people(1000).sort())
  assert.deepEqual(accepted.sort(), people(1000).sort())
  assert.equal(peer.connections, 5)
})

test('what is not wanted any more when its turn comes is not sent, and those behind it are', async () => {
  const { peer, transport } = await connected({ atDot: { delayMs: 50 } }, { max_connections: 1 })
  const unwanted = new Set(['r2@example.org', 'r3@example.org', 'r5@example.org'])
  const outcomes = await Promise.all(people(6).map((to) => send(transport, to, { isStillWanted: () => !unwanted.has(to) })))
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.kind === 'deferred' && outcome.isUnbegun ? 'unbegun' : outcome.kind)),
    ['delivered', 'delivered', 'unbegun', 'unbegun', 'delivered', 'unbegun'],
  )
  assert.deepEqual(
    peer.commands.filter((line) => line.startsWith('RCPT')),
    ['r0', 'r1', 'r4'].map((name) => `RCPT TO:<${name}@example.org>`),
  )
})

test('a message in parts arrives whole', async () => {
  const { peer, transport } = await connected({})
  const parts = [Buffer.from('Subject: Hi\r\n'), Buffer.from('\r\nHel'), Buffer.from('lo\r\n')]
  for (const isDotSafe of [true, false]) await transport.send({ from: '', to: 'bob@example.org' }, parts, { ...about, isDotSafe })
  assert.deepEqual(
    peer.messages.map(({ raw }) => raw.toString()),
    [message.toString(), message.toString()],
  )
})

test('a large message to a slow reader arrives whole', async () => {
  const { peer, transport } = await connected({ atData: { delayMs: 20 } })
  const large = Buffer.from(`Subject: Hi\r\n\r\n${'0123456789abcdef.\r\n.'.repeat(300_000)}\r\n`)
  const { kind } = await transport.send({ from: '', to: 'bob@example.org' }, large, about)
  assert.equal(kind, 'delivered')
  assert.ok(peer.messages[0]?.raw.equals(large))
})

/** Answers as it should, and reads a few kilobytes now and then. */
async function startSlowReader(): Promise<{ port: number; close(): Promise<void> }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    const replies = ['250 slow.test', '250 ok', '250 ok', '354 go']
    socket.on('error', () => {}).on('close', () => clearInterval(reading))
    socket.on('data', () => {
      const reply = replies.shift()
      if (reply) socket.write(`${reply}\r\n`)
      else socket.pause()
    })
    const reading = setInterval(() => socket.resume(), 50)
    socket.write('220 slow.test\r\n')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  }
  return { port: (server.address() as AddressInfo).port, close }
}

test('a server that reads a little now and then is out of time in the end', async () => {
  const reader = await startSlowReader()
  const limits = { socket_ms: 1_000, dot_ms: 1_000, message_ms: 2_000 }
  const transport = createSmtpTransport(`smtp://127.0.0.1:${reader.port}`, limits)
  toClose.push(transport, reader)
  const outcome = await transport.send({ from: '', to: 'bob@example.org' }, Buffer.alloc(60_000_000, `${'a'.repeat(76)}\r\n`), about)
  assert.ok(outcome.kind === 'deferred')
  assert.match(outcome.detail, /^silent: not through after 2 s, while waiting for dot; the final dot was unanswered$/)
})

test('so is one that answers just in time, again and again', async () => {
  const late = { delayMs: 600 }
  const limits = { socket_ms: 900, message_ms: 1_000 }
  const offers = { pipelining: false }
  const envelope = await connected({ offers, atMail: late, atRcpt: late, atData: late }, limits)
  const outcome = await send(envelope.transport, 'bob@example.org')
  assert.ok(outcome.kind === 'deferred' && !outcome.isUncertain)
  assert.match(outcome.detail, /^silent: not through after 1 s, while waiting for /)
  const greeting = await connected({ atGreeting: late, atEhlo: late }, limits)
  const other = await send(greeting.transport, 'bob@example.org')
  assert.ok(other.kind === 'deferred')
  assert.match(other.detail, /^slow_start: no session in time$/)
})

test('a connection is replaced after its share of messages', async () => {
  for (const pipelining of [true, false]) {
    const { peer, transport } = await connected({ offers: { pipelining } }, { max_messages: 3, max_connections: 1 })
    const outcomes = await Promise.all(people(10).map((to) => send(transport, to)))
    assert.ok(outcomes.every(({ kind }) => kind === 'delivered'))
    assert.equal(peer.connections, 4)
    assert.equal(peer.commands.filter((line) => line === 'QUIT').length, 3)
  }
})

test('a connection with nothing to do is given back', async () => {
  const { peer, transport } = await connected({}, { idle_ms: 50 })
  await send(transport, 'bob@example.org')
  await until('the connection is closed', () => peer.open === 0)
  assert.equal(peer.commands.at(-1), 'QUIT')
  assert.equal((await send(transport, 'bob@example.org')).kind, 'delivered')
  assert.equal(peer.connections, 2)
})

test('a rate is kept', async () => {
  const { transport, peer } = await connected({}, { rate: 50 })
  const began = performance.now()
  await Promise.all(people(25).map((to) => send(transport, to)))
  // Five may go at once; the other twenty take 20 ms each. Slower is no fault.
  assert.ok(performance.now() - began >= 390)
  assert.equal(peer.messages.length, 25)
})

const drops: [stage: string, script: SmtpPeerOptions][] = [
  ['MAIL', { atMail: ({ before }) => (before === 3 ? { drop: true } : undefined) }],
  ['RCPT', { atRcpt: ({ before }) => (before === 3 ? { drop: true } : undefined) }],
  ['DATA', { atData: ({ before }) => (before === 3 ? { drop: true } : undefined) }],
  ['the dot', { atDot: ({ before }) => (before === 3 ? { drop: true } : undefined) }],
]

for (const [stage, script] of drops) {
  for (const pipelining of [true, false]) {
    test(`a connection lost at ${stage}, ${pipelining ? 'pipelined' : 'one by one'}: only an unanswered dot is uncertain`, async () => {
      const { peer, transport } = await connected({ ...script, offers: { pipelining } }, { max_connections: 2 })
      const accepted: string[] = []
      const outcomes = await Promise.all(people(20).map((to) => send(transport, to, { onAccepted: () => accepted.push(to) })))
      const lost = outcomes.filter((outcome): outcome is Extract<Outcome, { kind: 'deferred' }> => outcome.kind === 'deferred')
      assert.equal(lost.length, stage === 'the dot' ? 1 : 0, JSON.stringify(lost))
      for (const outcome of lost) {
        assert.equal(outcome.isUncertain, true)
        assert.match(outcome.detail, /final dot was unanswered/)
      }
      assert.equal(peer.messages.length, 20 - lost.length)
      assert.deepEqual(accepted.sort(), peer.messages.map(({ to }) => to[0]).sort())
      const arrived = [...peer.messages, ...peer.refused].map(({ to }) => to[0])
      assert.equal(new Set(arrived).size, 20, 'none is missing, none came twice')
    })
  }
}

test('whatever a host answers at random, each message is told its own, and none comes twice', async () => {
  for (const pipelining of [true, false]) {
    let dice = 7
    const roll =
      (...actions: PeerAction[]) =>
      () => {
        dice = (dice * 1_103_515_245 + 12_345) % 2 ** 31
        return dice % 100 < 8 ? actions[dice % actions.length] : undefined
      }
    const atEnvelope = roll('550 5.1.1 no', '451 4.3.0 later', '421 4.3.2 bye', { drop: true }, { delayMs: 5 })
    const script = { offers: { pipelining }, atMail: atEnvelope, atRcpt: atEnvelope, atData: atEnvelope }
    const { peer, transport } = await connected(
      { ...script, atDot: roll('554 5.7.1 no', '452 4.2.2 full', '421 4.3.2 bye', { drop: true }) },
      { max_messages: 20 },
    )
    const accepted: string[] = []
    const outcomes = await Promise.all(people(500).map((to) => send(transport, to, { onAccepted: () => accepted.push(to) })))
    const delivered = people(500).filter((_, index) => outcomes[index]?.kind === 'delivered')
    assert.deepEqual(peer.messages.map(({ to }) => to[0]).sort(), delivered.sort())
    assert.deepEqual(accepted.sort(), delivered)
    const uncertain = people(500).filter((_, index) => 'isUncertain' in (outcomes[index] as Outcome))
    const answered = new Set([...peer.messages, ...peer.refused].map(({ to }) => to[0]))
    assert.ok(uncertain.every((to) => answered.has(to)))
    assert.equal(peer.messages.length + peer.refused.length, answered.size, 'none came twice')
    assert.ok(peer.commands.every((line) => /^(EHLO|MAIL FROM:|RCPT TO:|DATA$|RSET$|QUIT$)/.test(line)))
    assert.ok(delivered.length > 300)
  }
})

test('silence and garbage at the dot are uncertain too; a no, and silence before, are not', async () => {
  const cases: [SmtpPeerOptions, boolean][] = [
    [{ atDot: { hang: true } }, true],
    [{ atDot: 'thanks' }, true],
    [{ atDot: '354 more' }, true],
    [{ atDot: '451 4.3.0 later' }, false],
    [{ atRcpt: { hang: true } }, false],
    [{ atData: '250 go' }, false],
    [{ atGreeting: '421 4.3.2 busy' }, false],
  ]
  for (const [script, isUncertain] of cases) {
    const { transport } = await connected(script, { socket_ms: 300, dot_ms: 300 })
    const outcome = await send(transport, 'bob@example.org')
    assert.ok(outcome.kind === 'deferred')
    assert.equal(outcome.isUncertain ?? false, isUncertain, JSON.stringify(outcome))
  }
})

test('what onAccepted throws comes to whoever sent, and the connection goes on', async () => {
  const { transport, peer } = await connected({}, { max_connections: 1 })
  const disk = () => {
    throw new Error('disk full')
  }
  const [first, second] = await Promise.allSettled([
    send(transport, 'a@example.org', { onAccepted: disk }),
    send(transport, 'b@example.org'),
  ])
  assert.equal(first?.status === 'rejected' && first.reason.message, 'disk full')
  assert.ok(second?.status === 'fulfilled' && second.value.kind === 'delivered')
  assert.equal(peer.connections, 1)
})

test('a single letter does not wait behind a newsletter', async () => {
  const { transport, peer } = await connected({}, { max_connections: 1 })
  const newsletter = people(50).map((to) => send(transport, to, { lane: 'post_1' }))
  await Promise.all([...newsletter, send(transport, 'letter@example.org')])
  const place = peer.messages.findIndex(({ to }) => to[0] === 'letter@example.org')
  assert.ok(place < 5, `it was number ${place}`)
})

test('a host that cannot be reached fails what waits, rests, and is used again when it is back', async () => {
  const first = await startSmtpPeer({})
  await first.close()
  const transport = createSmtpTransport(`smtp://127.0.0.1:${first.port}`, {})
  toClose.push(transport)
  const outcomes = await Promise.all(people(50).map((to) => send(transport, to)))
  assert.ok(outcomes.every((outcome) => outcome.kind === 'deferred' && /Nothing answers/.test(outcome.reason)))
  const back = await startSmtpPeer({ port: first.port })
  toClose.push(back)
  assert.equal((await send(transport, 'bob@example.org')).kind, 'delivered', 'it waited for the next try')
})

test('a host that allows few connections gets its mail over those', async () => {
  const { peer, transport } = await connected({
    atGreeting: ({ connection }) => (connection > 1 ? '421 4.7.0 too many connections' : undefined),
  })
  await send(transport, 'first@example.org')
  const outcomes = await Promise.all(people(100).map((to) => send(transport, to)))
  assert.ok(outcomes.every(({ kind }) => kind === 'delivered'))
  assert.equal(peer.messages.length, 101)
})

test('close does not wait for a host that never greets', async () => {
  const { peer, transport } = await connected({ atGreeting: { hang: true } }, { greeting_ms: 60_000, socket_ms: 60_000 })
  const sending = send(transport, 'bob@example.org')
  await until('it is connected', () => peer.open === 1)
  await transport.close()
  const outcome = await sending
  assert.ok(outcome.kind === 'deferred')
  assert.match(outcome.reason, /shutting down/)
  await until('no connection is left', () => peer.open === 0)
})

test('close gives up what has not begun and waits for what has', async () => {
  const { peer, transport } = await connected({ atDot: { delayMs: 100 } }, { max_connections: 1 })
  const sending = people(5).map((to) => send(transport, to))
  await until('the first message is there', () => peer.refused.length > 0)
  await transport.close()
  const outcomes = await Promise.all(sending)
  // One whose dot is unanswered, and the one whose envelope went with it.
  assert.deepEqual(
    outcomes.map(({ kind }) => kind),
    ['delivered', 'delivered', 'deferred', 'deferred', 'deferred'],
  )
  assert.equal(peer.messages.length, 2)
  await until('no connection is left', () => peer.open === 0)
})

import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { type PeerCall, type SmtpPeer, type SmtpPeerOptions, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { createSmtpTransport, type SmtpLimits } from '../transports/smtp.ts'
import type { Outcome, Transport } from '../transports/transport.ts'

const about = { message_id: 'm1@example.com', subject: 'Hi' }
const message = Buffer.from('Subject: Hi\r\n\r\nRCPT TO:<eve@example.net>\r\nQUIT\r\n')

const toClose: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const thing of toClose.splice(0)) await thing.close()
})

async function connected(script: SmtpPeerOptions, limits: Partial<SmtpLimits> = {}): Promise<{ peer: SmtpPeer; transport: Transport }> {
  const peer = await startSmtpPeer(script)
  const transport = createSmtpTransport(`smtp://127.0.0.1:${peer.port}`, { socket_ms: 5000, max_connections: 1, ...limits })
  toClose.push(transport, peer)
  return { peer, transport }
}

const sendAll = (transport: Transport, recipients: string[]): Promise<Outcome[]> =>
  Promise.all(recipients.map((to) => transport.send({ from: 'b@example.com', to }, message, about)))

const people = (count: number) => Array.from({ length: count }, (_, index) => `r${index}@example.org`)

/** Nothing but commands was read as commands. */
function assertOnlyCommands(peer: SmtpPeer): void {
  for (const line of peer.commands) assert.match(line, /^(EHLO \S+|MAIL FROM:<b@example\.com>|RCPT TO:<\w+@example\.org>|DATA|RSET|QUIT)$/)
}

test('MAIL, RCPT and DATA leave together, and the next three together with the message', async () => {
  const ahead: Record<string, string[]> = { mail: [], dot: [] }
  const note = (stage: string) => (call: PeerCall) => void ahead[stage]?.push(call.ahead)
  const { peer, transport } = await connected({ atMail: note('mail'), atDot: note('dot') })
  const outcomes = await sendAll(transport, people(3))
  assert.ok(outcomes.every(({ kind }) => kind === 'delivered'))
  assert.equal(ahead.mail?.[0], 'RCPT TO:<r0@example.org>\r\nDATA\r\n')
  assert.deepEqual(ahead.dot, [
    'MAIL FROM:<b@example.com>\r\nRCPT TO:<r1@example.org>\r\nDATA\r\n',
    'MAIL FROM:<b@example.com>\r\nRCPT TO:<r2@example.org>\r\nDATA\r\n',
    '',
  ])
  assertOnlyCommands(peer)
})

test('to a server that does not pipeline nothing is said before its answer', async () => {
  const ahead: string[] = []
  const note = (call: PeerCall) => void ahead.push(call.ahead)
  const { peer, transport } = await connected({ offers: { pipelining: false }, atMail: note, atRcpt: note, atData: note, atDot: note })
  await sendAll(transport, people(3))
  assert.equal(peer.messages.length, 3)
  assert.deepEqual(ahead, Array(12).fill(''))
})

for (const takesDataAnyway of [undefined, true] as const) {
  test(`a refused recipient in the middle harms nobody, DATA answered ${takesDataAnyway ? 354 : 503}`, async () => {
    const { peer, transport } = await connected({
      atRcpt: ({ line }) => (/<r[37]@/.test(line) ? '550 5.1.1 no' : undefined),
      ...(takesDataAnyway ? { takesDataAnyway } : {}),
    })
    const outcomes = await sendAll(transport, people(10))
    const kinds = outcomes.map(({ kind }) => kind)
    assert.deepEqual(
      kinds,
      people(10).map((_, index) => (index === 3 || index === 7 ? 'bounced' : 'delivered')),
    )
    const whole = peer.messages.filter(({ to }) => to.length > 0)
    assert.deepEqual(
      whole.map(({ to }) => to[0]).sort(),
      people(10).filter((_, index) => index !== 3 && index !== 7),
    )
    assert.ok(whole.every(({ raw }) => raw.equals(message)))
    const empty = peer.messages.filter(({ to }) => to.length === 0)
    assert.deepEqual(
      empty.map(({ raw }) => raw.length),
      takesDataAnyway ? [0, 0] : [],
      'a lone dot, never the message',
    )
    assertOnlyCommands(peer)
    assert.equal(peer.connections, 1)
  })
}

test('a refused sender, and a refused DATA, let the next message through', async () => {
  const { peer, transport } = await connected({
    atMail: ({ before }) => (before === 1 ? '550 5.1.8 no' : undefined),
    atData: ({ before }) => (before === 2 ? '554 5.6.0 no' : undefined),
  })
  const kinds = (await sendAll(transport, people(5))).map(({ kind }) => kind)
  assert.deepEqual(kinds, ['delivered', 'bounced', 'delivered', 'bounced', 'delivered'])
  assert.ok(peer.commands.includes('RSET'))
  assertOnlyCommands(peer)
  assert.equal(peer.connections, 1)
})

test('a no to one message at its dot is not the next one’s', async () => {
  const { transport, peer } = await connected({ atDot: ({ before }) => (before % 2 === 1 ? '554 5.7.1 spam' : undefined) })
  const kinds = (await sendAll(transport, people(6))).map(({ kind }) => kind)
  assert.deepEqual(kinds, ['delivered', 'bounced', 'delivered', 'bounced', 'delivered', 'bounced'])
  assert.equal(peer.connections, 1)
})

test('replies in any pieces are understood', async () => {
  const cut = (text: string) => ({ pieces: [...text] })
  const { transport, peer } = await connected({
    atGreeting: cut('220-hello\r\n220 there\r\n'),
    atMail: cut('250 ok\r\n'),
    atRcpt: { pieces: ['250-2.1.5 o', 'k\r\n25', '0 2.1.5 ok\r', '\n'] },
    atData: cut('354 go\r\n'),
    atDot: { pieces: ['250-2.0.0 que', 'ued\r\n250 2.0.0 as 1', '\r\n'] },
  })
  const outcomes = await sendAll(transport, people(3))
  assert.deepEqual(outcomes[2], { kind: 'delivered', smtp_code: 250, response: '250-2.0.0 queued\n250 2.0.0 as 1' })
  assert.equal(peer.messages.length, 3)
})

test('an answer to a message that was not sent yet counts for nothing', async () => {
  const { transport, peer } = await connected({ atData: { raw: '354 go\r\n250 2.0.0 queued\r\n' } })
  const [outcome] = await sendAll(transport, people(1))
  assert.ok(outcome?.kind === 'deferred')
  assert.match(outcome.reason, /not SMTP/)
  assert.equal(outcome.isUncertain, undefined)
  assert.equal(peer.refused.length, 0)
})

test('goodbye in a session that worked is not an answer to the message that comes next', async () => {
  const { transport, peer } = await connected({
    atMail: ({ connection, before }) => (connection === 1 && before === 2 ? '421 4.7.0 that is enough' : undefined),
  })
  const outcomes = await sendAll(transport, people(5))
  assert.ok(outcomes.every(({ kind }) => kind === 'delivered'))
  assert.deepEqual(peer.messages.map(({ to }) => to[0]).sort(), people(5))
  assert.equal(peer.connections, 2)
})

test('goodbye as the answer to a message puts off that one only', async () => {
  const { transport, peer } = await connected({ atDot: ({ before }) => (before === 1 ? '421 4.3.2 closing' : undefined) })
  const outcomes = await sendAll(transport, people(4))
  assert.deepEqual(
    outcomes.map(({ kind }) => kind),
    ['delivered', 'deferred', 'delivered', 'delivered'],
  )
  assert.ok(outcomes[1]?.kind === 'deferred' && outcomes[1].smtp_code === 421 && outcomes[1].isUncertain === undefined)
  assert.equal(peer.messages.length, 3)
})

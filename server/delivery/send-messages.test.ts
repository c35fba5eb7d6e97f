import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { cloneDatabase } from '../../tests/support/database.ts'
import { createTestClock } from '../../tests/support/posthaste.ts'
import { type ReceivedMessage, type SmtpPeerOptions, startSmtpPeer } from '../../tests/support/smtp-peer.ts'
import { until } from '../../tests/support/until.ts'
import { parseDeliveryToken } from '../base/delivery-token.ts'
import { type MessageId, newId } from '../base/ids.ts'
import { createLog } from '../base/log.ts'
import { createSecrets } from '../base/secrets.ts'
import { openDatabase } from '../database/database.ts'
import { parseVerp } from '../mail/verp.ts'
import { DomainGate } from './broadcast/domain-gate.ts'
import { enqueueMessage } from './enqueue.ts'
import { type MessageSender, sendDueMessages, startMessageSender } from './send-messages.ts'
import { createSigners } from './signing-keys.ts'
import { createSmtpTransport } from './transports/smtp.ts'
import type { Outcome, Transport } from './transports/transport.ts'

const minute = 60_000
const clock = createTestClock()
const log = createLog('silent')
const secrets = createSecrets('a key for tests, long enough to be taken')
const { connection, drop } = await cloneDatabase()
const database = openDatabase({ connection, clock, log })
test.after(async () => {
  await database.close()
  await drop()
})

const toClose: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const thing of toClose.splice(0)) await thing.close()
  await database.run`delete from messages`
})

/** A sender on the way to a peer that does what its script says. */
async function senderTo(script: SmtpPeerOptions) {
  const peer = await startSmtpPeer(script)
  const transport = createSmtpTransport(`smtp://127.0.0.1:${peer.port}`, { socket_ms: 5_000 })
  toClose.push(transport, peer)
  return { peer, sender: senderWith(transport) }
}
const senderWith = (transport: Transport): MessageSender => ({
  database,
  clock,
  log,
  transport,
  signers: createSigners({ database, secrets, clock }),
  secrets,
  gate: new DomainGate(),
  mailDomain: 'posthaste.test',
  leaseMs: 15 * minute,
})

const enqueue = (to = 'ann@example.org', more: object = {}): Promise<MessageId> => {
  const from = { name: 'News', address: 'news@posthaste.test' }
  const mail = { from, to, reply_to: null, subject: 'Hello', text: 'Hi', html: null, headers: {}, ...more }
  return database.transaction((tx) => enqueueMessage(tx, { project_id: newId<'prj'>(), kind: 'confirmation', mail }))
}

interface Row {
  status: string
  attempts: number
  smtp_code: number | null
  reason: string | null
  next_attempt_at: Date
  settled_at: Date | null
}
const rowOf = async (id: MessageId) =>
  (await database.first<Row>`select * from messages where id = ${id}`) ?? assert.fail('no such message')
/** By the database's clock, which no test moves. */
const endLease = (id: MessageId) =>
  database.run`update messages set next_attempt_at = now() - interval '1 second' where id = ${id} and status = 'sending'`
const fieldOf = ({ raw }: ReceivedMessage, name: string) => new RegExp(`^${name}: (.*)\r$`, 'm').exec(raw.toString())?.[1]

test('a message goes out once, and is delivered when the other server says so', async () => {
  const { peer, sender } = await senderTo({})
  const id = await enqueue()
  assert.equal(await sendDueMessages(sender), false)
  const { status, attempts, smtp_code, reason, settled_at } = await rowOf(id)
  assert.deepEqual([status, attempts, smtp_code, reason], ['delivered', 1, 250, null])
  assert.ok(settled_at)
  clock.advance(24 * 60 * minute)
  await sendDueMessages(sender)
  assert.equal(peer.messages.length, 1)
  const [message] = peer.messages
  assert.deepEqual([fieldOf(message as ReceivedMessage, 'From'), message?.to], ['News <news@posthaste.test>', ['ann@example.org']])
  // What comes back says by itself which message it is about.
  const token = parseVerp(message?.from ?? '')
  assert.deepEqual(
    [parseDeliveryToken(secrets, 'return_path', token ?? '')?.kind, parseDeliveryToken(secrets, 'return_path', token ?? '')?.id],
    ['message', id],
  )
})

test('what goes wrong here, and not in the message, puts it off', async () => {
  const { peer, sender } = await senderTo({})
  for (const [error, reason] of [
    [Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }), /^The database could not be reached/],
    [new Error('something nobody thought of'), /^An error of this server .* the log of the server tells which$/],
  ] as const) {
    const id = await enqueue()
    await sendDueMessages({ ...sender, signers: { signerFor: () => Promise.reject(error) } })
    const row = await rowOf(id)
    assert.deepEqual([row.status, row.attempts, row.smtp_code], ['queued', 1, null])
    assert.match(row.reason ?? '', reason)
  }
  assert.deepEqual(peer.messages, [])
})

test('a message of a change that was rolled back never goes out', async () => {
  const { peer, sender } = await senderTo({})
  await assert.rejects(
    database.transaction(async (tx) => {
      const from = { name: null, address: 'news@posthaste.test' }
      const mail = { from, to: 'ann@example.org', reply_to: null, subject: 'x', text: 'x', html: null, headers: {} }
      await enqueueMessage(tx, { project_id: newId<'prj'>(), kind: 'confirmation', mail })
      throw new Error('changed my mind')
    }),
  )
  await sendDueMessages(sender)
  assert.equal(peer.connections, 0)
})

test('a temporary no is tried again along the retry times, as the same message, until it has failed', async () => {
  const { peer, sender } = await senderTo({ atDot: '451 4.3.0 later, please' })
  const id = await enqueue()
  const waits = [2, 10, 30, 60, 120, 240, 480, 960, 960]
  for (const [index, minutes] of waits.entries()) {
    await sendDueMessages(sender)
    const { status, attempts, smtp_code, reason, next_attempt_at, settled_at } = await rowOf(id)
    assert.deepEqual([status, attempts, smtp_code, settled_at], ['queued', index + 1, 451, null])
    assert.ok(reason)
    const wait = next_attempt_at.getTime() - clock.now().getTime()
    assert.ok(Math.abs(wait - minutes * minute) < 5_000, `${wait} ms after attempt ${index + 1}`)
    clock.advance(minutes * minute - 10_000)
    await sendDueMessages(sender)
    assert.equal(peer.refused.length, index + 1, 'not before its time')
    clock.advance(10_000)
  }
  await sendDueMessages(sender)
  const { status, attempts, settled_at } = await rowOf(id)
  assert.deepEqual([status, attempts], ['failed', 10])
  assert.ok(settled_at)
  clock.advance(30 * 24 * 60 * minute)
  await sendDueMessages(sender)
  assert.equal(peer.refused.length, 10)
  for (const field of ['Message-ID', 'Date', 'Subject', 'To']) {
    const values = new Set(peer.refused.map((message) => fieldOf(message, field)))
    assert.equal(values.size, 1, field)
    assert.ok(![...values].includes(undefined), field)
  }
  assert.match(fieldOf(peer.refused[0] as ReceivedMessage, 'Message-ID') ?? '', /^<msg_[0-9a-z]{26}@posthaste\.test>$/)
})

test('who is taken at the second try is delivered then', async () => {
  const { peer, sender } = await senderTo({ atRcpt: ({ before }) => (before === 0 ? '450 4.2.0 greylisted' : undefined) })
  const id = await enqueue()
  await sendDueMessages(sender)
  assert.equal((await rowOf(id)).status, 'queued')
  clock.advance(2 * minute)
  await sendDueMessages(sender)
  const { status, attempts, smtp_code, reason } = await rowOf(id)
  assert.deepEqual([status, attempts, smtp_code, reason], ['delivered', 2, 250, null])
  assert.equal(peer.messages.length, 1)
})

test('a permanent no is a bounce at once, and is never tried again', async () => {
  const { peer, sender } = await senderTo({ atRcpt: '550 5.1.1 no such user' })
  const id = await enqueue()
  await sendDueMessages(sender)
  const { status, attempts, smtp_code, reason, settled_at } = await rowOf(id)
  assert.deepEqual([status, attempts, smtp_code, reason], ['bounced', 1, 550, 'The mailbox does not exist'])
  assert.ok(settled_at)
  clock.advance(30 * 24 * 60 * minute)
  await sendDueMessages(sender)
  assert.equal(peer.commands.filter((command) => command.startsWith('RCPT')).length, 1)
})

test('a relay that is away, hangs up or talks nonsense costs a try, never the message', async () => {
  for (const script of [
    { atGreeting: { drop: true } },
    { atDot: { drop: true } },
    { atGreeting: 'nonsense' },
  ] satisfies SmtpPeerOptions[]) {
    const { sender } = await senderTo(script)
    const id = await enqueue()
    await sendDueMessages(sender)
    assert.equal((await rowOf(id)).status, 'queued', JSON.stringify(script))
  }
})

test('a message that cannot be put together fails with a reason, and the others go out', async () => {
  const { peer, sender } = await senderTo({})
  const bad = await enqueue('ann@example.org', { headers: { Subject: 'mine' } })
  const good = await enqueue('bob@example.org')
  await sendDueMessages(sender)
  const { status, reason } = await rowOf(bad)
  assert.deepEqual([status, reason], ['failed', 'The message could not be put together for this recipient'])
  assert.equal((await rowOf(good)).status, 'delivered')
  assert.equal(peer.messages.length, 1)
})

test('two senders at once share what is due, and nothing goes out twice', async () => {
  const { peer, sender } = await senderTo({})
  const ids = await Promise.all(Array.from({ length: 90 }, (_, index) => enqueue(`reader-${index}@example.org`)))
  const work = async () => {
    while (await sendDueMessages(sender)) {}
  }
  await Promise.all([work(), work(), work()])
  await work()
  assert.equal(peer.messages.length, ids.length)
  assert.equal(new Set(peer.messages.map((message) => message.to[0])).size, ids.length)
  const left = await database.many`select 1 from messages where status <> 'delivered' or attempts <> 1`
  assert.deepEqual(left, [])
})

/** A transport that holds each message until it is told how it ended: a sender that is killed, or stalls, in the middle. */
function stalledTransport() {
  const end = Promise.withResolvers<Outcome>()
  let sends = 0
  const transport: Transport = {
    name: 'stalled',
    send: () => {
      sends++
      return end.promise
    },
    verify: async () => {},
    close: async () => {},
  }
  return { transport, end: end.resolve, sends: () => sends }
}

test('a sender that is killed in the middle leaves a lease; when it has run out, another sends the same message again', async () => {
  const { peer, sender } = await senderTo({})
  const id = await enqueue()
  const stalled = stalledTransport()
  void sendDueMessages(senderWith(stalled.transport))
  await until('it is being sent', () => stalled.sends() === 1)
  assert.equal((await rowOf(id)).status, 'sending')
  await sendDueMessages(sender)
  assert.equal(peer.messages.length, 0, 'the lease is good for a quarter of an hour')
  await endLease(id)
  await sendDueMessages(sender)
  const { status, attempts } = await rowOf(id)
  assert.deepEqual([status, attempts, peer.messages.length], ['delivered', 2, 1])
})

test('a clock that jumps, or is ahead on another machine, ends no lease', async () => {
  const { peer, sender } = await senderTo({})
  const id = await enqueue()
  const stalled = stalledTransport()
  const slow = sendDueMessages(senderWith(stalled.transport))
  await until('it is being sent', () => stalled.sends() === 1)
  clock.advance(60 * minute)
  await sendDueMessages(sender)
  assert.equal(peer.messages.length, 0)
  stalled.end({ kind: 'delivered', smtp_code: 250, response: 'ok' })
  await slow
  const { status, attempts } = await rowOf(id)
  assert.deepEqual([status, attempts], ['delivered', 1])
})

test('what is enqueued by a machine whose clock is ahead goes out at once', async () => {
  const { peer, sender } = await senderTo({})
  const here = createTestClock()
  clock.advance(60 * minute)
  await enqueue()
  await sendDueMessages({ ...sender, clock: here })
  assert.equal(peer.messages.length, 1)
})

test('while a server takes its time, the lease is renewed: nobody else sends the message', async () => {
  const { peer, sender } = await senderTo({})
  const id = await enqueue()
  const stalled = stalledTransport()
  const slow = sendDueMessages({ ...senderWith(stalled.transport), leaseMs: 2_000 })
  await until('it is being sent', () => stalled.sends() === 1)
  for (let renewals = 0; renewals < 5; renewals++) {
    const before = (await rowOf(id)).next_attempt_at
    await until('the lease to be renewed', async () => (await rowOf(id)).next_attempt_at > before)
    await sendDueMessages(sender)
  }
  stalled.end({ kind: 'delivered', smtp_code: 250, response: 'ok' })
  await slow
  const { status, attempts } = await rowOf(id)
  assert.deepEqual([status, attempts, peer.messages.length], ['delivered', 1, 0])
})

test('a server that does not answer holds up nobody else', async () => {
  const { peer, sender } = await senderTo({})
  const stalled = stalledTransport()
  const send: Transport['send'] = (envelope, message, about) =>
    (envelope.to.startsWith('slow') ? stalled : sender).transport.send(envelope, message, about)
  const loop = startMessageSender({ ...sender, transport: { ...stalled.transport, send } })
  for (let number = 0; number < 12; number++) await enqueue(`slow-${number}@example.org`)
  await until('all slow ones to be begun', () => stalled.sends() === 12)
  const id = await enqueue('bob@example.org')
  await until('the other to be delivered', async () => (await rowOf(id)).status === 'delivered')
  assert.equal(peer.messages.length, 1)
  stalled.end({ kind: 'delivered', smtp_code: 250, response: 'ok' })
  await loop.stop()
  assert.deepEqual(await database.many`select distinct status from messages`, [{ status: 'delivered' }])
})

test('a sender that comes back after its lease ran out does not undo what the other settled', async () => {
  const { peer, sender } = await senderTo({})
  const id = await enqueue()
  const stalled = stalledTransport()
  const late = sendDueMessages(senderWith(stalled.transport))
  await until('it is being sent', () => stalled.sends() === 1)
  await endLease(id)
  await sendDueMessages(sender)
  stalled.end({ kind: 'deferred', smtp_code: 451, enhanced_code: null, reason: 'Too slow', detail: '' })
  await late
  assert.equal((await rowOf(id)).status, 'delivered')
  clock.advance(60 * minute)
  await sendDueMessages(sender)
  assert.equal(peer.messages.length, 1, 'nothing goes out twice')
})

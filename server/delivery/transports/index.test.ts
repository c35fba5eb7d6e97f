import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { type CapturedMessage, createTransport } from './index.ts'
import { parseRelayUrl } from './relay-url.ts'

const envelope = { from: 'b+token@rp.example.com', to: 'bob@example.org' }
const about = { message_id: 'm1@example.com', subject: 'Hi' }
const message = Buffer.from('Subject: Hi\r\n\r\nHello\r\n')
const dependencies = { storeCapturedMessage: async () => {} }

test('capture keeps the message and calls it delivered', async () => {
  const kept: CapturedMessage[] = []
  const transport = createTransport('capture', { storeCapturedMessage: async (captured) => void kept.push(captured) })
  await transport.verify()
  assert.deepEqual(await transport.send(envelope, message, about), { kind: 'delivered', smtp_code: null, response: 'captured' })
  assert.deepEqual(kept, [{ envelope_from: envelope.from, envelope_to: envelope.to, subject: 'Hi', message }])
  await transport.close()
})

test('capture defers when the message cannot be kept', async () => {
  const transport = createTransport('capture', { storeCapturedMessage: () => Promise.reject(new Error('disk full')) })
  const outcome = await transport.send(envelope, message, about)
  assert.ok(outcome.kind === 'deferred')
  assert.match(outcome.detail, /disk full/)
  assert.doesNotMatch(outcome.reason, /disk full/)
})

test('an smtp:// address makes a relay', async () => {
  const peer = await startSmtpPeer()
  const transport = createTransport(`smtp://127.0.0.1:${peer.port}`, dependencies)
  await transport.verify()
  assert.equal((await transport.send(envelope, message, about)).kind, 'delivered')
  await transport.close()
  await peer.close()
  assert.equal(peer.messages.length, 1)
})

const relays: [text: string, relay: ReturnType<typeof parseRelayUrl>][] = [
  ['smtp://relay.example:2525', { host: 'relay.example', port: 2525, is_implicit_tls: false, login: null }],
  ['smtp://relay.example', { host: 'relay.example', port: 587, is_implicit_tls: false, login: null }],
  ['SMTPS://relay.example/', { host: 'relay.example', port: 465, is_implicit_tls: true, login: null }],
  ['smtps://u:p@relay.example:8465', { host: 'relay.example', port: 8465, is_implicit_tls: true, login: { user: 'u', password: 'p' } }],
  [
    'smtp://a%40b.c:p%2F%3A%25@relay.example',
    { host: 'relay.example', port: 587, is_implicit_tls: false, login: { user: 'a@b.c', password: 'p/:%' } },
  ],
  ['smtp://[::1]:25', { host: '::1', port: 25, is_implicit_tls: false, login: null }],
]

for (const [text, relay] of relays) {
  test(`${text} is understood`, () => assert.deepEqual(parseRelayUrl(text), relay))
}

const refused: [text: string, problem: RegExp][] = [
  ['', /must be capture/],
  ['smpt://relay.example', /must be capture/],
  ['ses:eu-west-1', /names no region|is not a ses|something after/],
  ['relay.example:25', /must be capture/],
  ['smtp:relay.example', /names no host|something after/],
  ['smtp://', /names no host|is not an smtp/],
  ['smtp://relay.example:99999', /is not an smtp/],
  ['smtp://relay.example:0', /port 0/],
  ['smtp://relay.example:465', /write smtps:/],
  ['smtp://u:secret/x@relay.example', /is not an smtp|something after/],
  ['smtp://u:secret#x@relay.example', /is not an smtp|something after/],
  ['smtp://u:secret?x@relay.example', /is not an smtp|option/],
  ['smtp://u:secret%zz@relay.example', /percent sign/],
  ['smtp://u@relay.example', /only one of user and password/],
  ['smtp://:secret@relay.example', /only one of user and password/],
  ['smtp://relay.example?pool=true', /the option pool/],
  ['smtp://u:12?secret@relay.example', /a question mark/],
  ['smtp://relay.example/inbox', /something after/],
]

for (const [text, problem] of refused) {
  test(`OUTBOUND=${text} is refused in one line`, () => {
    assert.throws(
      () => createTransport(text, dependencies),
      (error: Error) => {
        assert.match(error.message, problem)
        assert.match(error.message, /^OUTBOUND /)
        assert.doesNotMatch(error.message, /secret|\n/)
        return true
      },
    )
  })
}

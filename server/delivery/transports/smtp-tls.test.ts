import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { peerCertificate } from '../../../tests/support/peer-certificate.ts'
import { type SmtpPeerOptions, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { createSmtpTransport } from './smtp.ts'

const envelope = { from: 'b+token@rp.example.com', to: 'bob@example.org' }
const message = Buffer.from('Subject: Hi\r\n\r\nHello\r\n')
const about = { message_id: 'm1@example.com', subject: 'Hi' }

/** `relay` is OUTBOUND without the port. */
async function sendOnce({ relay = 'smtp://127.0.0.1', ...script }: SmtpPeerOptions & { relay?: string }) {
  const peer = await startSmtpPeer(script)
  const transport = createSmtpTransport(`${relay}:${peer.port}`, { greeting_ms: 1000 })
  const outcome = await transport.send(envelope, message, about)
  const problem = await transport.verify().then(() => null, String)
  await transport.close()
  await peer.close()
  return { outcome, problem, peer }
}

test('STARTTLS is used when offered, also with a certificate nobody signed', async () => {
  const { outcome, peer } = await sendOnce({ relay: 'smtp://user:pass@127.0.0.1', offers: { starttls: true, auth: true } })
  assert.equal(outcome.kind, 'delivered')
  assert.equal(peer.messages[0]?.tls, true)
  assert.equal(peer.messages[0]?.login, 'user:pass')
})

test('a refused STARTTLS: in clear text without a password, deferred with one', async () => {
  const open = await sendOnce({ offers: { starttls: true }, atStartTls: '454 4.7.0 not now' })
  assert.equal(open.outcome.kind, 'delivered')
  assert.equal(open.peer.messages[0]?.tls, false)
  const secret = await sendOnce({
    relay: 'smtp://user:pass@127.0.0.1',
    offers: { starttls: true, auth: true },
    atStartTls: '454 4.7.0 not now',
  })
  assert.ok(secret.outcome.kind === 'deferred')
  assert.match(secret.outcome.reason, /encrypted connection/)
  assert.ok(!secret.peer.commands.some((command) => command.startsWith('AUTH')))
})

test('a TLS handshake that fails or never ends is deferred', async () => {
  for (const atStartTls of [
    { raw: '220 go\r\n' },
    { raw: '220 go\r\nnot TLS at all, but long enough to be a record\r\n' },
    { raw: '220 go\r\n', drop: true as const },
  ]) {
    const { outcome } = await sendOnce({ offers: { starttls: true }, atStartTls })
    assert.ok(outcome.kind === 'deferred')
    assert.match(outcome.reason, /encrypted connection/, JSON.stringify(outcome))
  }
})

test('smtps:// wants a certificate that verifies', async (context) => {
  const trusted = getCACertificates('default')
  context.after(() => setDefaultCACertificates(trusted))
  const { outcome, problem } = await sendOnce({ relay: 'smtps://127.0.0.1', secure: true })
  assert.ok(outcome.kind === 'deferred')
  assert.match(outcome.reason, /encrypted connection.*certificate/)
  assert.match(problem ?? '', /certificate/)

  setDefaultCACertificates([...trusted, peerCertificate])
  const byName = await sendOnce({ relay: 'smtps://localhost', secure: true })
  assert.equal(byName.outcome.kind, 'delivered', JSON.stringify(byName.outcome))
  assert.equal(byName.peer.messages[0]?.tls, true)
})

test('smtps:// to a port that speaks plain SMTP is deferred', async () => {
  const { outcome } = await sendOnce({ relay: 'smtps://127.0.0.1' })
  assert.equal(outcome.kind, 'deferred')
})

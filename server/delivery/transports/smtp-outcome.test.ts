import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type SmtpPeerOptions, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { createSmtpTransport, type SmtpLimits } from './smtp.ts'
import type { Outcome } from './transport.ts'

const envelope = { from: 'b+token@rp.example.com', to: 'bob@example.org' }
const message = Buffer.from('From: ann@example.com\r\nTo: bob@example.org\r\nSubject: Hi\r\n\r\nHello\r\n')
const about = { message_id: 'm1@example.com', subject: 'Hi' }

/** Only where the peer hangs: elsewhere a busy machine must not turn one failure into another. */
const impatient = { greeting_ms: 200, socket_ms: 300 }

async function attempt(script: SmtpPeerOptions, limits: Partial<SmtpLimits>) {
  const peer = await startSmtpPeer(script)
  const transport = createSmtpTransport(`smtp://127.0.0.1:${peer.port}`, limits)
  const outcome = await transport.send(envelope, message, about)
  await transport.close()
  await peer.close()
  return { outcome, peer }
}

interface Expected {
  kind: Outcome['kind']
  code?: number | null
  enhanced?: string | null
  reason: RegExp
}

/** One entry per way to fail; each is tried with and without pipelining, because the client takes different paths. */
const failures: [name: string, script: SmtpPeerOptions, expected: Expected][] = [
  ['RCPT 550', { atRcpt: '550 5.1.1 no such user' }, { kind: 'bounced', code: 550, enhanced: '5.1.1', reason: /mailbox does not exist/ }],
  [
    'RCPT 550 without an enhanced code',
    { atRcpt: '550 no' },
    { kind: 'bounced', code: 550, enhanced: null, reason: /recipient was refused/ },
  ],
  ['RCPT 552', { atRcpt: '552 5.2.2 full' }, { kind: 'bounced', code: 552, enhanced: '5.2.2', reason: /full/ }],
  ['RCPT 554 policy', { atRcpt: '554 5.7.1 spam' }, { kind: 'bounced', code: 554, enhanced: '5.7.1', reason: /policy/ }],
  [
    'RCPT 550 in several lines',
    { atRcpt: '550-5.1.1 no\r\n550 5.1.1 really' },
    { kind: 'bounced', code: 550, enhanced: '5.1.1', reason: /does not exist/ },
  ],
  ['RCPT 450', { atRcpt: '450 4.7.1 greylisted' }, { kind: 'deferred', code: 450, enhanced: '4.7.1', reason: /try again later/ }],
  ['RCPT 452', { atRcpt: '452 4.2.2 full' }, { kind: 'deferred', code: 452, enhanced: '4.2.2', reason: /full/ }],
  ['RCPT 421', { atRcpt: '421 4.3.2 closing' }, { kind: 'deferred', code: 421, enhanced: '4.3.2', reason: /try again later/ }],
  ['RCPT 530', { atRcpt: '530 5.7.0 log in' }, { kind: 'deferred', code: 530, enhanced: '5.7.0', reason: /login; check OUTBOUND/ }],
  [
    'relaying denied',
    { atRcpt: '554 5.7.1 <bob@example.org>: Relay access denied' },
    { kind: 'deferred', code: 554, enhanced: '5.7.1', reason: /login; check OUTBOUND/ },
  ],
  ['relaying not permitted', { atRcpt: '550 Relaying is not permitted' }, { kind: 'deferred', code: 550, reason: /login; check OUTBOUND/ }],
  ['RCPT 503', { atRcpt: '503 5.5.1 sequence' }, { kind: 'deferred', code: 503, enhanced: '5.5.1', reason: /lost track/ }],
  ['MAIL 550', { atMail: '550 5.1.8 bad sender' }, { kind: 'bounced', code: 550, enhanced: '5.1.8', reason: /sender address/ }],
  ['MAIL 553', { atMail: '553 no' }, { kind: 'bounced', code: 553, enhanced: null, reason: /sender address/ }],
  ['MAIL 451', { atMail: '451 4.3.0 later' }, { kind: 'deferred', code: 451, enhanced: '4.3.0', reason: /try again later/ }],
  ['DATA 554', { atData: '554 5.6.0 no' }, { kind: 'bounced', code: 554, enhanced: '5.6.0', reason: /message was refused/ }],
  ['DATA 451', { atData: '451 4.3.0 later' }, { kind: 'deferred', code: 451, enhanced: '4.3.0', reason: /try again later/ }],
  ['the dot 554', { atDot: '554 5.7.1 spam' }, { kind: 'bounced', code: 554, enhanced: '5.7.1', reason: /policy/ }],
  ['the dot 552', { atDot: '552 5.3.4 too large' }, { kind: 'bounced', code: 552, enhanced: '5.3.4', reason: /too large/ }],
  ['the dot 451', { atDot: '451 4.3.0 later' }, { kind: 'deferred', code: 451, enhanced: '4.3.0', reason: /try again later/ }],
  ['the dot 421', { atDot: '421 4.3.2 closing' }, { kind: 'deferred', code: 421, enhanced: '4.3.2', reason: /try again later/ }],
  [
    'greeting 554',
    { atGreeting: '554 5.3.2 go away' },
    { kind: 'deferred', code: 554, enhanced: '5.3.2', reason: /turned the connection away/ },
  ],
  ['greeting 421', { atGreeting: '421 4.3.2 busy' }, { kind: 'deferred', code: 421, enhanced: '4.3.2', reason: /try again later/ }],
  ['EHLO and HELO 550', { atEhlo: '550 no' }, { kind: 'deferred', code: 550, reason: /turned the connection away/ }],
  ['EHLO 421', { atEhlo: '421 4.3.2 busy' }, { kind: 'deferred', code: 421, reason: /try again later/ }],
  ['drop at the greeting', { atGreeting: { drop: true } }, { kind: 'deferred', code: null, reason: /closed the connection|broke/ }],
  ['drop at EHLO', { atEhlo: { drop: true } }, { kind: 'deferred', code: null, reason: /closed the connection|broke/ }],
  ['drop at MAIL', { atMail: { drop: true } }, { kind: 'deferred', code: null, reason: /closed the connection|broke/ }],
  ['drop at RCPT', { atRcpt: { drop: true } }, { kind: 'deferred', code: null, reason: /closed the connection|broke/ }],
  ['drop at DATA', { atData: { drop: true } }, { kind: 'deferred', code: null, reason: /closed the connection|broke/ }],
  ['drop in the message', { dropInMessageAfter: 10 }, { kind: 'deferred', code: null, reason: /closed the connection|broke/ }],
  ['drop at the dot', { atDot: { drop: true } }, { kind: 'deferred', code: null, reason: /closed the connection|broke/ }],
  ['half a yes at the dot', { atDot: { raw: '25', drop: true } }, { kind: 'deferred', code: null, reason: /closed the connection|broke/ }],
  ['a no without its line end', { atDot: { raw: '554 5.7.1 spa', drop: true } }, { kind: 'deferred', reason: /connection/ }],
  ['hang at the greeting', { atGreeting: { hang: true } }, { kind: 'deferred', code: null, reason: /did not answer in time/ }],
  ['hang at EHLO', { atEhlo: { hang: true } }, { kind: 'deferred', code: null, reason: /stopped answering/ }],
  ['hang at RCPT', { atRcpt: { hang: true } }, { kind: 'deferred', code: null, reason: /stopped answering/ }],
  ['hang at DATA', { atData: { hang: true } }, { kind: 'deferred', code: null, reason: /stopped answering/ }],
  ['hang at the dot', { atDot: { hang: true } }, { kind: 'deferred', code: null, reason: /stopped answering/ }],
  ['garbage at the greeting', { atGreeting: 'HTTP/1.1 400 Bad Request' }, { kind: 'deferred', code: null, reason: /not SMTP/ }],
  ['garbage at EHLO', { atEhlo: 'what?' }, { kind: 'deferred', code: null, reason: /not SMTP/ }],
  ['garbage at MAIL', { atMail: 'what?' }, { kind: 'deferred', code: null, reason: /not SMTP/ }],
  ['garbage at RCPT', { atRcpt: '5' }, { kind: 'deferred', reason: /not SMTP/ }],
  ['garbage at DATA', { atData: '\u0001\u0002' }, { kind: 'deferred', code: null, reason: /not SMTP/ }],
  ['garbage at the dot', { atDot: 'thanks' }, { kind: 'deferred', code: null, reason: /not SMTP/ }],
  ['a yes that is not one', { atDot: '2 thanks' }, { kind: 'deferred', code: null, reason: /not SMTP/ }],
  ['a number beyond SMTP', { atRcpt: '5500 no' }, { kind: 'deferred', reason: /not SMTP/ }],
]

for (const [name, script, expected] of failures) {
  for (const pipelining of [true, false]) {
    test(`${name}, ${pipelining ? 'pipelined' : 'one by one'}: ${expected.kind}`, async () => {
      const { outcome, peer } = await attempt({ ...script, offers: { pipelining } }, name.startsWith('hang') ? impatient : {})
      assert.ok(outcome.kind !== 'delivered')
      assert.equal(outcome.kind, expected.kind, JSON.stringify(outcome))
      if (expected.code !== undefined) assert.equal(outcome.smtp_code, expected.code, JSON.stringify(outcome))
      if (expected.enhanced !== undefined) assert.equal(outcome.enhanced_code, expected.enhanced)
      assert.match(outcome.reason, expected.reason, JSON.stringify(outcome))
      assert.ok(outcome.detail.length > 0)
      assert.doesNotMatch(outcome.reason, /example\.org/, 'the reason names nobody')
      assert.ok(peer.messages.length + peer.refused.length <= 1, 'never sent twice')
    })
  }
}

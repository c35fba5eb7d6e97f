import assert from 'node:assert/strict'
import { test } from 'node:test'
import { classifyFailure, smtpCodeIn, statusIn } from './classify.ts'
import { oneLine } from './one-line.ts'
import type { BounceClass } from './report.ts'

/** Answers as servers give them. The status is what stands in them, as it would for a report without a better one. */
const answers: [BounceClass, ...string[]][] = [
  [
    'hard',
    '550 5.1.1 <ann@example.org>: Recipient address rejected: User unknown in local recipient table',
    '550 5.1.1 The email account that you tried to reach does not exist.',
    '550 No such user here',
    '550 Unknown user',
    '550 user unknown',
    '550 Invalid recipient',
    '550 #5.1.0 Address rejected.',
    '550 5.1.0 Address rejected ann@example.org',
    '550 5.1.1 RESOLVER.ADR.RecipNotFound; not found',
    '550 5.4.1 Recipient address rejected: Access denied. AS(201806281)',
    '554 delivery error: dd This user does not have a yahoo.example account',
    '550 Requested action not taken: mailbox unavailable',
    '550 5.5.0 Requested action not taken: mailbox unavailable',
    '553 sorry, no mailbox here by that name',
    '550 No such recipient',
    '550 Mailbox not found',
    '550 The mailbox does not exist',
    '550 recipient rejected',
    '550 5.2.1 The email account that you tried to reach is disabled.',
    '550 Account disabled',
    '550 mailbox is inactive',
    '554 30: This mailbox is disabled',
    '550 This account has been suspended',
    '550 5.1.2 Host unknown',
    'Host or domain name not found. Name service error for name=gone.example type=MX: Host not found',
    'Unrouteable address',
    '550 5.1.10 Domain does not accept mail (null MX)',
    '551 not our customer',
    '550 Benutzer unbekannt',
    '550 Empfänger existiert nicht',
    '550 Utilisateur inconnu',
    '550 El usuario no existe',
    '550 Usuário inexistente',
    '550 Utente sconosciuto',
    '550 Gebruiker onbekend',
    '550 用户不存在',
    '550 收件人地址不存在',
    '550 宛先のアドレスが見つかりません',
    '550 Нет такого пользователя',
  ],
  [
    'soft',
    '552 5.2.2 Mailbox full',
    '550 Mailbox is full',
    '552 Requested mail action aborted: exceeded storage allocation',
    '550 5.1.1 mailbox full',
    '552 user has exceeded quota',
    '550 User is over the quota. You can try again later.',
    '452 4.2.2 Over quota',
    '452 4.3.1 Insufficient system storage',
    '554 5.2.2 mailbox full; STOREDRV.Deliver.Exception:QuotaExceededException',
    '550 Postfach ist voll',
    '550 La boîte du destinataire est pleine',
    '550 Buzón lleno',
    '550 Caixa postal cheia',
    '550 Casella piena',
    '550 Mailbox vol',
    '552 邮箱已满',
    '550 メールボックスがいっぱいです',
    '421 4.7.0 Try again later, closing connection',
    '451 4.7.1 Greylisted, please try again in 300 seconds',
    '450 4.2.1 The user you are trying to contact is receiving mail too quickly',
    '451 4.3.0 Temporary lookup failure',
    '4.4.7 Message expired: connection timed out',
    'connect to mx.example.org[192.0.2.1]:25: Connection refused',
    '550 5.4.6 Routing loop detected',
    '554 5.4.6 Too many hops',
    '550 rejected',
    '554 Transaction failed',
    '550 #!?',
    'nothing that anybody could read',
    '',
  ],
  [
    'policy',
    '550 5.7.1 Service unavailable; Client host [192.0.2.10] blocked using zen.spamhaus.org',
    '554 5.7.1 Message rejected due to content',
    '550 5.7.26 Unauthenticated email from example.com is not accepted due to domain DMARC policy',
    '550 5.7.515 Access denied, sending domain example.com does not meet the required authentication level',
    '550 5.7.1 This message has been blocked because it looks like spam',
    '550 High probability of spam',
    '554 Your message was considered unsolicited bulk mail',
    '550 Your IP address 192.0.2.10 has been rejected',
    '550 SC-001 (COL004) Unfortunately, messages from 192.0.2.10 were not sent: part of their network is on our block list',
    '553 5.7.2 [TSS09] All messages from 192.0.2.10 will be permanently deferred',
    '554 Relay access denied',
    '550 5.7.1 Unable to relay',
    '550 Sender address rejected: not allowed',
    '550 5.1.8 <letter@example.com>: Sender address rejected: Domain not found',
    '550 5.1.7 Invalid sender address',
    '550 SPF check failed',
    '550 reverse DNS lookup failed',
    '550 5.1.1 rejected: listed at bl.spamcop.net',
    '552 5.3.4 Message size exceeds fixed maximum message size',
    '552 Message too large',
    '554 5.6.0 Message contains a virus',
    '550 邮件被判定为垃圾邮件',
    '550 5.7.1 User unknown',
  ],
]

test('servers mean what the table says', () => {
  for (const [expected, ...texts] of answers)
    for (const text of texts) {
      const verdict = classifyFailure(statusIn(text), text)
      assert.equal(verdict.class, expected, `${text}: ${verdict.reason}`)
      assert.match(verdict.reason, /^[A-Z][^.!?]+$/)
    }
})

test('nothing under 4.x or 5.7.x ever gives up an address', () => {
  for (const [, ...texts] of answers)
    for (const text of texts)
      for (const status of ['4.0.0', '4.1.1', '4.2.1', '4.2.2', '4.7.1', '5.7.0', '5.7.1', '5.7.26'])
        assert.notEqual(classifyFailure(status, text).class, 'hard', `${status} ${text}`)
})

test('codes are found where they stand, and not in addresses or versions', () => {
  const codes: [text: string, status: string | null, code: string | null][] = [
    ['550 5.1.1 no', '5.1.1', '550'],
    ['550-5.1.1 no', '5.1.1', '550'],
    ['(#5.1.1)', '5.1.1', null],
    ['said: 552 5.2.2 full', '5.2.2', '552'],
    ['smtp;550 5.01.001 no', '5.1.1', '550'],
    ['host 5.1.1.7 said no', null, null],
    ['version 15.1.1', null, null],
    ['192.0.2.10 said 451 later', null, '451'],
    ['order 5501', null, null],
    ['call 555-1234', null, '555'],
    ['', null, null],
  ]
  for (const [text, status, code] of codes) {
    assert.equal(statusIn(text), status, text)
    assert.equal(smtpCodeIn(text), code, text)
  }
})

test('a wrapped answer becomes one line, and none is endless', () => {
  assert.equal(oneLine('550-5.1.1 There is\r\n550-5.1.1 no such\r\n550 5.1.1 user'), '550 5.1.1 There is no such user')
  assert.equal(oneLine('550-There is\n550 nobody'), '550 There is nobody')
  assert.equal(oneLine(' a\t b\0 \x1b[31mc '), 'a b [31mc')
  assert.equal(oneLine('550 5.1.1'), '550 5.1.1')
  assert.equal(oneLine('x'.repeat(10_000)).length, 500)
  assert.ok(oneLine('🦊'.repeat(1000)).isWellFormed())
})

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { type SesTurn, sesOutbound, startSesPeer } from '../../../tests/support/ses-peer.ts'
import { classifyFailure } from '../../mail/reports/classify.ts'
import type { BounceClass } from '../../mail/reports/report.ts'
import { createSesTransport, type SesLimits } from './ses.ts'

const envelope = { from: 'b+token@rp.example.com', to: 'bob@example.org' }
const message = Buffer.from('Subject: Hi\r\n\r\nHello\r\n')
const about = { message_id: 'm1@example.com', subject: 'Hi' }
const peer = await startSesPeer()
const closing: (() => Promise<unknown>)[] = [() => peer.close()]
after(async () => {
  for (const close of closing.reverse()) await close()
})

const connect = (outbound = sesOutbound(peer, '&rate=1000'), limits: Partial<SesLimits> = {}) => {
  const transport = createSesTransport(outbound, limits)
  closing.push(() => transport.close())
  return transport
}
const transport = connect()
async function attempt(turn: SesTurn, by = transport) {
  peer.next(turn)
  const asked = peer.asked.length
  const outcome = await by.send(envelope, message, { ...about, onAccepted: () => assert.fail('nobody said yes') })
  assert.equal(peer.asked.length, asked + 1, 'asked once: the SDK does not try again')
  return outcome
}

interface Expected {
  reason: RegExp
  /** Absent when it is put off. */
  bounce?: { code: number; enhanced: string; class: BounceClass }
  isUncertain?: true
}
const policy = { code: 554, enhanced: '5.7.1', class: 'policy' } as const

/** Every answer by Amazon's name for it. What is wrong with the account never bounces anybody. */
const answers: [turn: Exclude<SesTurn, string>, expected: Expected][] = [
  [{ error: 'TooManyRequestsException', status: 429 }, { reason: /more slowly/ }],
  [{ error: 'ThrottlingException', message: 'Maximum sending rate exceeded.', status: 429 }, { reason: /more slowly/ }],
  [{ error: 'LimitExceededException', message: 'Daily message quota exceeded.' }, { reason: /daily quota/ }],
  [{ error: 'AccountSuspendedException' }, { reason: /suspended the account/ }],
  [{ error: 'SendingPausedException' }, { reason: /paused/ }],
  [{ error: 'MailFromDomainNotVerifiedException' }, { reason: /MAIL FROM domain is not verified/ }],
  [{ error: 'NotFoundException', message: 'Configuration set <x> does not exist.', status: 404 }, { reason: /configuration_set/ }],
  [{ error: 'AccessDeniedException', status: 403 }, { reason: /allow it ses:SendEmail/ }],
  [{ error: 'UnrecognizedClientException', status: 403 }, { reason: /refused the key/ }],
  [{ error: 'ExpiredTokenException', status: 403 }, { reason: /has expired/ }],
  [
    {
      error: 'InvalidSignatureException',
      message: 'Signature expired: 20261115T000000Z is now earlier than 20261115T001000Z',
      status: 403,
    },
    { reason: /our clock wrong/ },
  ],
  [
    {
      error: 'MessageRejected',
      message: 'Email address is not verified. The following identities failed the check in region EU-WEST-1: bob@example.org',
    },
    { reason: /not verified the sender, or .*sandbox/ },
  ],
  [{ error: 'MessageRejected', message: 'Sending suspended for this account.' }, { reason: /paused in Amazon SES/ }],
  [
    { error: 'MessageRejected', message: 'The content is not allowed.' },
    { reason: /refused the message/, bounce: policy },
  ],
  [
    { error: 'MessageRejected', message: 'Message length is more than 41943040 bytes long' },
    { reason: /too large/, bounce: { code: 552, enhanced: '5.3.4', class: 'policy' } },
  ],
  [
    { error: 'BadRequestException', message: 'Invalid email address <Bob@example.org>.' },
    { reason: /address is not valid/, bounce: { code: 553, enhanced: '5.1.3', class: 'hard' } },
  ],
  [{ error: 'BadRequestException', message: 'Local address contains illegal character' }, { reason: /does not understand the request/ }],
  [{ error: 'SomethingNewException', message: 'Surprise' }, { reason: /did not take the message/ }],
  [{ error: 'InternalServiceErrorException', status: 500 }, { reason: /trouble of its own/ }],
  [503, { reason: /trouble of its own/ }],
  [504, { reason: /trouble of its own/, isUncertain: true }],
  [404, { reason: /did not take the message/ }],
]

for (const [turn, { reason, bounce, isUncertain }] of answers) {
  const name = typeof turn === 'number' ? `${turn} with a page` : 'error' in turn ? `${turn.error} ${turn.message ?? ''}` : ''
  test(`${name}: ${bounce ? `bounced ${bounce.enhanced}` : 'put off'}`, async () => {
    const outcome = await attempt(turn)
    assert.ok(outcome.kind !== 'delivered')
    assert.match(outcome.reason, reason)
    assert.equal(outcome.kind, bounce ? 'bounced' : 'deferred')
    assert.deepEqual([outcome.smtp_code, outcome.enhanced_code], bounce ? [bounce.code, bounce.enhanced] : [null, null])
    assert.equal('isUncertain' in outcome && outcome.isUncertain, isUncertain ?? false)
    assert.doesNotMatch(outcome.reason, /example\.org|Surprise/, 'the detail may name people, the reason does not')
    if (bounce) assert.equal(classifyFailure(outcome.enhanced_code, `${outcome.smtp_code} ${outcome.reason}`).class, bounce.class)
  })
}

test('an answer that was lost, or cannot be read, may have been a yes', async () => {
  const impatient = connect(sesOutbound(peer, '&rate=1000'), { answer_ms: 300 })
  const table: [turn: SesTurn, reason: RegExp, by?: typeof impatient][] = [
    ['drop', /broke before its answer/],
    ['rubbish', /not one of Amazon SES; check OUTBOUND/],
    ['empty', /not one of Amazon SES; check OUTBOUND/],
    ['hang', /did not answer in time/, impatient],
  ]
  for (const [turn, reason, by] of table) {
    const outcome = await attempt(turn, by)
    assert.ok(outcome.kind === 'deferred', String(turn))
    assert.match(outcome.reason, reason)
    assert.equal(outcome.isUncertain, true, String(turn))
  }
  assert.equal((await impatient.send(envelope, message, about)).kind, 'delivered', 'and the next one goes through')
})

test('where no connection stood, nothing was sent', async () => {
  const gone = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => gone.once('listening', resolve))
  const { port } = gone.address() as AddressInfo
  await new Promise((resolve) => gone.close(resolve))
  const table: [endpoint: string, reason: RegExp][] = [
    [`http://127.0.0.1:${port}`, /cannot be reached; check the network/],
    [`https://127.0.0.1:${new URL(peer.url).port}`, /encrypted connection to Amazon SES failed/],
    ['http://ses.invalid', /was not found; check the region|cannot be reached/],
  ]
  for (const [url, reason] of table) {
    const outcome = await connect(sesOutbound({ url })).send(envelope, message, about)
    assert.ok(outcome.kind === 'deferred', url)
    assert.match(outcome.reason, reason)
    assert.equal(outcome.isUncertain, undefined, url)
  }
})

test('without a key anywhere, that is what it says', async () => {
  const names = [
    'AWS_ACCESS_KEY_ID',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_PROFILE',
    'AWS_EC2_METADATA_DISABLED',
    'AWS_SHARED_CREDENTIALS_FILE',
    'AWS_CONFIG_FILE',
  ]
  const before = names.map((name) => [name, process.env[name]] as const)
  for (const name of names.slice(0, 3)) delete process.env[name]
  process.env.AWS_EC2_METADATA_DISABLED = 'true'
  process.env.AWS_SHARED_CREDENTIALS_FILE = process.env.AWS_CONFIG_FILE = '/nonexistent'
  try {
    const keyless = connect(`ses://eu-west-1?rate=1000&endpoint=${encodeURIComponent(peer.url)}`)
    const outcome = await keyless.send(envelope, message, about)
    assert.ok(outcome.kind === 'deferred')
    assert.match(outcome.reason, /^No key for Amazon SES was found/)
    assert.equal(outcome.isUncertain, undefined)
  } finally {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
  }
})

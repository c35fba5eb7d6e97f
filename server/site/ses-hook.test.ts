import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { after, test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'
import { ledgerOf, newSentPost, suppressionsOf, type TestRecipient } from '../../tests/support/recipients.ts'
import { type SnsFields, snsMessage, snsTopic, startSnsPeer } from '../../tests/support/sns-peer.ts'
import { assertCounts } from '../../tests/support/subscribers.ts'

const peer = await startSnsPeer()
after(() => peer.stop())
const settings = { SES_TOPICS: `${snsTopic},arn:aws:sns:us-east-1:123456789012:b`, SNS_HOST: peer.host, ALLOW_PRIVATE_WEBHOOKS: 'true' }
const app = await startApp(settings)

/** SNS calls its JSON text/plain. */
const post = (body: SnsFields | string | Buffer, url = app.url) =>
  fetch(`${url}/hooks/ses`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain; charset=UTF-8' },
    body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  })
const message = (changes: SnsFields = {}, forgery: SnsFields = {}) => snsMessage(peer, app.clock.now(), changes, forgery)
const mailOf = ({ tokens, email }: TestRecipient) => ({
  messageId: 'x',
  destination: [email],
  tags: { 'posthaste-token': [tokens.return_path] },
})
const bounceOf = (recipient: TestRecipient, bounceType = 'Permanent', bounceSubType = 'General') =>
  JSON.stringify({
    eventType: 'Bounce',
    mail: mailOf(recipient),
    bounce: { bounceType, bounceSubType, bouncedRecipients: [{ emailAddress: recipient.email, action: 'failed', status: '5.1.1' }] },
  })
const complaintOf = (recipient: TestRecipient, complaintFeedbackType = 'abuse') =>
  JSON.stringify({
    eventType: 'Complaint',
    mail: mailOf(recipient),
    complaint: { complaintFeedbackType, complainedRecipients: [{ emailAddress: recipient.email }] },
  })
const errorOf = async (response: Response) => ((await response.json()) as { error: { code: string; message: string } }).error

for (const SignatureVersion of ['1', '2']) {
  test(`a bounce, signed by version ${SignatureVersion}, is applied to the message whose token it carries, once`, async () => {
    const { project, list, first } = await newSentPost(app, { subscribers: 2 })
    const body = message({ SignatureVersion, Subject: 'Amazon SES Email Event Notification', Message: bounceOf(first) })
    for (let times = 0; times < 3; times++) {
      const answer = await post(body)
      assert.deepEqual([answer.status, await answer.json()], [200, { status: 'ok' }])
    }
    assert.deepEqual(await project.events(), ['email.bounced'])
    assert.equal((await ledgerOf(app, project, first))?.status, 'bounced')
    assert.deepEqual(await suppressionsOf(project), [[first.email, 'hard_bounce']])
    await assertCounts(app, project, list.id, { active: 1, bounced: 1 })
  })
}

test('a complaint unsubscribes and suppresses; praise does nothing; a full mailbox bounces and condemns nobody', async () => {
  const { project, list, recipients } = await newSentPost(app, { subscribers: 3 })
  const [one, two, three] = recipients as [TestRecipient, TestRecipient, TestRecipient]
  assert.equal((await post(message({ Message: complaintOf(one, 'not-spam') }))).status, 200)
  assert.deepEqual(await project.events(), [])
  assert.equal((await post(message({ Message: complaintOf(two) }))).status, 200)
  assert.deepEqual(await project.events(), ['email.complained', 'subscriber.unsubscribed'])
  assert.equal((await post(message({ Message: bounceOf(three, 'Transient', 'MailboxFull') }))).status, 200)
  assert.deepEqual(await project.events(), ['email.bounced'])
  assert.deepEqual(await suppressionsOf(project), [[two.email, 'complaint']])
  await assertCounts(app, project, list.id, { active: 2, unsubscribed: 1 })
})

test('greetings, deliveries and tokens that were not made here are taken and change nothing', async () => {
  const { project, first } = await newSentPost(app)
  const { return_path } = first.tokens
  const changed = `${return_path.slice(0, -1)}${return_path.endsWith('0') ? '1' : '0'}`
  const forged = { ...first, tokens: { ...first.tokens, return_path: changed } }
  const fromLink = { ...first, tokens: { ...first.tokens, return_path: first.tokens.click } }
  const delivered = JSON.stringify({ eventType: 'Delivery', mail: mailOf(first), delivery: {} })
  for (const Message of [
    'Successfully validated SNS topic for Amazon SES event publishing.',
    delivered,
    bounceOf(forged),
    bounceOf(fromLink),
    '{}',
  ])
    assert.equal((await post(message({ Message }))).status, 200)
  assert.deepEqual(await project.events(), [])
  assert.equal((await ledgerOf(app, project, first))?.status, 'delivered')
})

test('the question whether we want a topic is answered with yes, at the address of SNS alone', async () => {
  const ask = (SubscribeURL: string, more: SnsFields = {}) =>
    post(message({ Type: 'SubscriptionConfirmation', Token: 'abc', Message: 'You have chosen to subscribe', SubscribeURL, ...more }))
  const path = `/?Action=ConfirmSubscription&TopicArn=${snsTopic}&Token=abc`
  assert.equal((await ask(peer.url + path)).status, 200)
  assert.ok(peer.asked.includes(path))
  const before = peer.asked.length
  for (const url of [
    'https://evil.example/?Action=ConfirmSubscription',
    `${peer.url}/?Action=DeleteTopic`,
    `${peer.url}/`,
    `http://${peer.host}${path}`,
    '',
  ])
    assert.equal((await ask(url)).status, 403, url)
  assert.equal((await ask(peer.url + path, { TopicArn: 'arn:aws:sns:eu-west-1:999999999999:other' })).status, 403)
  assert.equal(peer.asked.length, before)
  const farewell = message({ Type: 'UnsubscribeConfirmation', Token: 'abc', SubscribeURL: peer.url + path })
  assert.equal((await post(farewell)).status, 200)
  assert.equal(peer.asked.length, before, 'whoever unsubscribed us meant it')
})

test('what Amazon did not sign, for a topic of ours, just now, is refused with a sentence and changes nothing', async () => {
  const { project, first } = await newSentPost(app)
  const Message = bounceOf(first)
  const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const hour = 3_600_000
  const at = (ms: number) => new Date(app.clock.now().getTime() + ms).toISOString()
  const table: [what: string, body: SnsFields, sentence: RegExp][] = [
    ['another text', message({}, { Message }), /signature does not match/],
    ['another time', message({ Message }, { Timestamp: at(1_000) }), /signature does not match/],
    ['a subject that was not signed', message({ Message }, { Subject: 'x' }), /signature does not match/],
    ['the other version', message({ Message }, { SignatureVersion: '2' }), /signature does not match/],
    [
      'another key',
      message({ Message }, { Signature: sign('sha1', Buffer.from('x'), stranger).toString('base64') }),
      /signature does not match/,
    ],
    ['no signature', message({ Message }, { Signature: '' }), /signature does not match/],
    ['another topic', message({ Message, TopicArn: 'arn:aws:sns:eu-west-1:123456789012:other' }), /not one of SES_TOPICS/],
    ['too old', message({ Message, Timestamp: at(-hour - 60_000) }), /more than an hour old/],
    ['too new', message({ Message, Timestamp: at(hour) }), /from the future/],
    [
      'a certificate elsewhere',
      message({ Message, SigningCertURL: 'https://sns.eu-west-1.amazonaws.com.evil.example/a.pem' }),
      /not an address of Amazon/,
    ],
    [
      'a certificate without TLS',
      message({ Message, SigningCertURL: peer.certificate_url.replace('https', 'http') }),
      /not an address of Amazon/,
    ],
    [
      'a certificate for somebody',
      message({ Message, SigningCertURL: peer.certificate_url.replace('://', '://a@') }),
      /not an address of Amazon/,
    ],
    ['something else there', message({ Message, SigningCertURL: `${peer.url}/other` }), /not an address of Amazon/],
    ['a question there', message({ Message, SigningCertURL: `${peer.certificate_url}?x=.pem` }), /not an address of Amazon/],
    ['no certificate', message({ Message, SigningCertURL: `${peer.url}/SimpleNotificationService-none.pem` }), /certificate is none/],
  ]
  for (const [what, body, sentence] of table) {
    const refused = await post(body)
    assert.equal(refused.status, 403, what)
    const { code, message: said } = await errorOf(refused)
    assert.equal(code, 'forbidden', what)
    assert.match(said, sentence, what)
  }
  assert.deepEqual(await project.events(), [])
  assert.equal((await ledgerOf(app, project, first))?.status, 'delivered')
})

test('what is no message of SNS is refused: rubbish, other JSON, too much', async () => {
  const { Signature: _, ...unsigned } = message()
  for (const body of [
    '',
    'x',
    'null',
    '[]',
    '{}',
    JSON.stringify({ ...message(), Type: 'Other' }),
    JSON.stringify({ ...message(), SignatureVersion: '3' }),
    JSON.stringify(unsigned),
  ]) {
    const refused = await post(body)
    assert.equal(refused.status, 422, body)
    assert.equal((await errorOf(refused)).code, 'validation_error')
  }
  assert.equal((await post(Buffer.alloc(256 * 1024 + 1, ' '))).status, 413)
  assert.equal((await fetch(`${app.url}/hooks/ses`)).status, 404)
})

test('when the certificate cannot be fetched, SNS is asked to come again', async () => {
  peer.isBroken = true
  const url = `${peer.url}/SimpleNotificationService-new.pem`
  const refused = await post(message({ SigningCertURL: url }))
  peer.isBroken = false
  assert.equal(refused.status, 503)
  assert.equal((await errorOf(refused)).code, 'service_unavailable')
})

test('good messages are not counted; who sends bad ones is not listened to for the rest of the minute', async () => {
  const { url, clock } = await startApp({ ...settings, RATE_LIMIT_PER_MINUTE: '3' })
  const good = () => post(snsMessage(peer, clock.now()), url)
  for (let times = 0; times < 5; times++) assert.equal((await good()).status, 200)
  for (let times = 0; times < 3; times++) assert.equal((await post('x', url)).status, 422)
  const refused = await good()
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  assert.match((await errorOf(refused)).message, /Too many messages from here were refused\. Wait \d+ s\./)
  clock.advance(60_000)
  assert.equal((await good()).status, 200)
})

test('a program fetches the certificate once', () => {
  assert.equal(peer.asked.filter((path) => path === '/SimpleNotificationService-1234.pem').length, 2, 'two programs ran')
})

test('without SES_TOPICS there is nothing here', async () => {
  const closed = await startApp({ SNS_HOST: peer.host })
  const answer = await post(message(), closed.url)
  assert.equal(answer.status, 404)
  assert.equal((await errorOf(answer)).code, 'not_found')
})

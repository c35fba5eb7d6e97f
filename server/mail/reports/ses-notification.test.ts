import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSesNotification } from './ses-notification.ts'

const token = '33ff04hmasw9nc0s6ksv248q48nk6d248nancskbv8nrqagmyj6b'
const mail = {
  timestamp: '2026-11-15T08:00:00.000Z',
  source: 'news@example.com',
  messageId: '0102018e-000000',
  destination: ['ann@example.org'],
  tags: { 'ses:configuration-set': ['news'], 'posthaste-token': [token] },
}
const read = (notification: object) => readSesNotification(JSON.stringify(notification))
const bounced = (bounceType: string, bounceSubType: string, more: object = {}) =>
  read({
    eventType: 'Bounce',
    mail,
    bounce: {
      bounceType,
      bounceSubType,
      bouncedRecipients: [
        { emailAddress: 'ann@example.org', action: 'failed', status: '5.1.1', diagnosticCode: 'smtp; 550 5.1.1\r\n no', ...more },
      ],
      feedbackId: 'x',
    },
  })

test('a bounce is hard when it is permanent, of the message when it says so, and soft otherwise', () => {
  const table: [type: string, subtype: string, kind: string, reason: RegExp][] = [
    ['Permanent', 'General', 'hard', /refused the address for good/],
    ['Permanent', 'NoEmail', 'hard', /not valid/],
    ['Permanent', 'Suppressed', 'hard', /suppression list of Amazon SES$/],
    ['Permanent', 'OnAccountSuppressionList', 'hard', /suppression list of the Amazon SES account/],
    ['Permanent', 'SomethingNew', 'hard', /could not take/],
    ['Transient', 'General', 'soft', /could not take/],
    ['Transient', 'MailboxFull', 'soft', /full/],
    ['Transient', 'MessageTooLarge', 'policy', /too large/],
    ['Transient', 'ContentRejected', 'policy', /content/],
    ['Transient', 'AttachmentRejected', 'policy', /attachment/],
    ['Undetermined', 'Undetermined', 'soft', /could not take/],
    ['SomethingNew', '', 'soft', /could not take/],
  ]
  for (const [type, subtype, kind, reason] of table) {
    const found = bounced(type, subtype)
    assert.equal(found?.token, token)
    assert.ok(found?.report.kind === 'bounce')
    const [one, ...others] = found.report.recipients
    assert.deepEqual(
      [one?.class, one?.address, one?.action, one?.status, others],
      [kind, 'ann@example.org', 'failed', '5.1.1', []],
      subtype,
    )
    assert.match(one?.reason ?? '', reason)
    assert.equal(one?.diagnostic, 'smtp; 550 5.1.1 no')
  }
})

test('what an identity tells is read like what a configuration set publishes; then the token is in the headers', () => {
  const { tags: _, ...plain } = mail
  const headers = [
    { name: 'From', value: 'News <news@example.com>' },
    { name: 'x-posthaste-token', value: ` ${token.toUpperCase()} ` },
  ]
  const complaint = { complainedRecipients: [{ emailAddress: 'ann@example.org' }], complaintFeedbackType: 'Abuse', userAgent: 'Yahoo!' }
  assert.deepEqual(read({ notificationType: 'Complaint', mail: { ...plain, headersTruncated: false, headers }, complaint }), {
    token,
    report: {
      kind: 'complaint',
      feedback_type: 'abuse',
      address: 'ann@example.org',
      original: { message_id: '0102018e-000000', to: 'ann@example.org', headers: {} },
      user_agent: 'Yahoo!',
      source_ip: null,
    },
  })
})

test('a complaint without a kind is one of abuse; praise and broken signatures are none', () => {
  const of = (complaintFeedbackType?: string) =>
    read({ eventType: 'Complaint', mail, complaint: { complainedRecipients: [], complaintFeedbackType, complaintSubType: null } })
  const kinds = [undefined, 'fraud', 'virus', 'other', '\0'].map((kind) => {
    const report = of(kind)?.report
    return report?.kind === 'complaint' ? [report.feedback_type, report.address] : null
  })
  assert.deepEqual(
    kinds,
    ['abuse', 'fraud', 'virus', 'other', 'abuse'].map((kind) => [kind, 'ann@example.org']),
  )
  for (const kind of ['not-spam', 'auth-failure']) assert.equal(of(kind), null, kind)
})

test('a message that SES found to hold a virus did not arrive, and the address is not to blame', () => {
  const report = read({ eventType: 'Reject', mail, reject: { reason: 'Bad content' } })?.report
  assert.ok(report?.kind === 'bounce')
  assert.deepEqual(
    report.recipients.map(({ class: kind, diagnostic }) => [kind, diagnostic]),
    [['policy', 'Bad content']],
  )
})

test('nothing to do: other events, the greeting of a topic, no token or none of ours, rubbish', () => {
  for (const eventType of [
    'Send',
    'Delivery',
    'DeliveryDelay',
    'Open',
    'Click',
    'Rendering Failure',
    'Subscription',
    'AmazonSnsSubscriptionSucceeded',
  ])
    assert.equal(read({ eventType, mail, delivery: {}, open: {} }), null, eventType)
  const complaint = { complainedRecipients: [] }
  for (const tags of [undefined, null, {}, { 'posthaste-token': [] }, { 'posthaste-token': ['x'] }, { 'posthaste-token': 'x' }, []])
    assert.equal(read({ eventType: 'Complaint', mail: { ...mail, tags }, complaint }), null)
  for (const wrong of [
    { eventType: 'Bounce', mail },
    { eventType: 'Bounce', mail, bounce: {} },
    { eventType: 'Complaint', mail, complaint: 5 },
    {},
    { mail: 5 },
  ])
    assert.equal(read(wrong), null)
  for (const text of ['Successfully validated SNS topic for Amazon SES event publishing.', '', '[]', 'null', '{"mail":', '5'])
    assert.equal(readSesNotification(text), null, text)
  assert.equal(bounced('Permanent', 'General', { status: '5.1.1; drop table', diagnosticCode: null })?.report.kind, 'bounce')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emailsIn, fileMail, newMailbox, waitingMail } from '../../../tests/support/inbound.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newSentPost, suppressionsOf } from '../../../tests/support/recipients.ts'
import { until } from '../../../tests/support/until.ts'
import { formatId } from '../../base/ids.ts'

const app = await startApp()

test('conversations are found by what a mail names, then by subject and writer; others stay apart', async () => {
  const { project, address } = await newMailbox(app)
  const send = (message_id: string, subject: string, headers: string[] = [], from = 'Ann <ann@example.com>') =>
    fileMail(app, { recipients: [address], message_id, subject, headers, from })
  await send('1@x', 'Tea')
  await send('2@x', 'Anything', ['References: <0@x> <1@x>'])
  await send('3@x', 'AW: Tea')
  await send('4@x', 'Re: Tea', [], 'Ben <ben@example.com>')
  await send('5@x', 'Tea')
  app.clock.advance(31 * 86_400_000)
  await send('6@x', 'Re: Tea')
  const threads = Object.fromEntries((await emailsIn(app, project)).map(({ message_id, thread_id }) => [message_id, thread_id]))
  const [one] = await emailsIn(app, project)
  assert.deepEqual([threads['2@x'], threads['3@x']], [one?.id, one?.id])
  assert.equal(new Set([threads['1@x'], threads['4@x'], threads['5@x'], threads['6@x']]).size, 4)
})

test('an answer to a single mail marks it replied, is counted once, and says what it answers', async () => {
  const { project, address } = await newMailbox(app)
  const sent = await project.post('/emails', {
    from: address,
    to: 'ann@example.com',
    subject: 'Offer',
    text: 'Hi',
    tag: 'offers',
    metadata: { order: '7' },
  })
  assert.equal(sent.status, 201, JSON.stringify(sent.body))
  await project.events()
  const reply = {
    recipients: [address],
    subject: 'Re: Offer',
    message_id: 'r@example.com',
    headers: [`In-Reply-To: <${sent.body.provider_message_id}>`],
  }
  await fileMail(app, reply)
  const events = await project.eventsWithData()
  assert.deepEqual(
    events.map(({ type }) => type).filter((type) => type !== 'contact.created'),
    ['email.received', 'email.replied'],
  )
  const [original, answer] = await emailsIn(app, project)
  assert.ok(original && answer)
  assert.deepEqual([original.status, answer.thread_id], ['replied', original.thread_id])
  const { data } = events.at(-1) as (typeof events)[number]
  assert.deepEqual(
    [data.email_id, data.message_id, data.tag, data.metadata, data.from],
    [formatId('eml', answer.id), 'r@example.com', 'offers', { order: '7' }, 'ann@example.com'],
  )
  const { body: contact } = await project.get(`/contacts/${data.contact_id}`)
  assert.equal(contact.total_replies, 1)
})

test('an answer that names nothing is one to the mail with its subject, if that went to who writes', async () => {
  const { project, address } = await newMailbox(app)
  const mail = { from: address, to: 'ann@example.com', subject: 'Offer', text: 'Hi' }
  await project.post('/emails', { ...mail, tag: 'offers' })
  await fileMail(app, { recipients: [address], subject: 'Something else' })
  await project.events()
  await fileMail(app, { recipients: [address], subject: 'Re: Offer', from: 'Ben <ben@example.com>', envelope_from: 'ben@example.com' })
  await fileMail(app, { recipients: [address], subject: 'Re: Offer', headers: ['Auto-Submitted: auto-replied'] })
  assert.deepEqual(await project.events(), ['contact.created', 'email.received', 'email.received'])
  await fileMail(app, { recipients: [address], subject: 'AW: Offer' })
  await fileMail(app, { recipients: [address], subject: 'Re: Offer' })
  const events = await project.eventsWithData()
  assert.deepEqual(
    events.map(({ type, data }) => [type, data.tag]),
    [
      ['email.received', null],
      ['email.replied', 'offers'],
      ['email.received', null],
      ['email.replied', 'offers'],
    ],
  )
  const [original] = await emailsIn(app, project)
  assert.equal(original?.status, 'replied')
})

test('what comes from where nobody reads makes no contact, and is filed with who is one already', async () => {
  const { project, address } = await newMailbox(app)
  for (const from of ['noreply@example.com', 'No-Reply@example.com', 'orders-noreply@example.com', 'do_not_reply+7@example.com'])
    await fileMail(app, { recipients: [address], from, envelope_from: from })
  assert.deepEqual((await project.get('/contacts')).body, [])
  assert.deepEqual(await project.events(), Array(4).fill('email.received'))
  for (const from of ['nora.reply@example.com', 'noreplyanski@example.com'])
    await fileMail(app, { recipients: [address], from, envelope_from: from })
  assert.equal((await project.get('/contacts')).body.length, 2)
  const { body: list } = await project.post('/lists', { name: 'News' })
  await project.post(`/lists/${list.id}/subscribers`, { email: 'noreply@example.com', verified: true })
  await fileMail(app, { recipients: [address], from: 'noreply@example.com', envelope_from: 'noreply@example.com' })
  assert.notEqual((await emailsIn(app, project)).at(-1)?.contact_id, null)
})

test('an answer to a broadcast, to the list or to the return path, counts for the list', async () => {
  const { project, list, post, recipients } = await newSentPost(app, { subscribers: 2 })
  const [one, two] = recipients
  assert.ok(one && two)
  await fileMail(app, {
    recipients: [list.mailbox_address],
    from: one.email,
    message_id: 'r1@example.org',
    headers: [`References: <${formatId('dlv', one.id)}@posthaste.test>`],
  })
  const events = await project.eventsWithData()
  assert.deepEqual(
    events.map(({ type }) => type),
    ['email.received', 'email.replied'],
  )
  assert.deepEqual([events[1]?.data.list_id, events[1]?.data.post_id, events[1]?.data.message_id], [list.id, post.id, 'r1@example.org'])
  await fileMail(app, { recipients: [`b+${two.tokens.return_path}@posthaste.test`], from: two.email })
  assert.deepEqual(await project.events(), ['email.received', 'email.replied'])
  const activity = await until('both replies in the feed', async () => {
    const { body } = await project.get(`/lists/${list.id}/activity`)
    return body.week.replies >= 2 ? body : null
  })
  assert.equal(activity.week.replies, 2)
  const item = activity.items.find(({ message_id }: { message_id: string }) => message_id === 'r1@example.org')
  assert.deepEqual([item.type, item.email, item.email_id], ['email.replied', one.email, events[1]?.data.email_id])
})

test('auto-replies and bounces are filed as automatic: no contact, no reply, no answer', async () => {
  const { project, address } = await newMailbox(app)
  const sent = await project.post('/emails', { from: address, to: 'ann@example.com', subject: 'Offer', text: 'Hi' })
  await project.events()
  const named = `In-Reply-To: <${sent.body.provider_message_id}>`
  await fileMail(app, {
    recipients: [address],
    subject: 'Out of office',
    headers: ['Auto-Submitted: auto-replied', named],
    from: 'new@example.com',
  })
  await fileMail(app, {
    recipients: [address],
    envelope_from: '',
    from: 'mailer-daemon@example.com',
    subject: 'Undelivered',
    headers: [named],
  })
  const [original, ...received] = await emailsIn(app, project)
  assert.equal(original?.status, 'delivered')
  assert.deepEqual(
    received.map(({ is_automatic, contact_id }) => [is_automatic, contact_id]),
    [
      [true, null],
      [true, null],
    ],
  )
  assert.deepEqual(await project.events(), ['email.received', 'email.received'])
})

test('what comes back to an address of ours is applied and filed nowhere', async () => {
  const { project, recipients } = await newSentPost(app, { subscribers: 2 })
  const [one, two] = recipients
  assert.ok(one && two)
  await fileMail(app, { recipients: [`unsubscribe+${one.tokens.unsubscribe}@posthaste.test`], from: one.email, text: '' })
  await fileMail(app, { recipients: [`b+${two.tokens.return_path}@posthaste.test`], envelope_from: '', raw: bounceOf(two.email) })
  await fileMail(app, { recipients: [`b+${two.tokens.return_path}@posthaste.test`], headers: ['Auto-Submitted: auto-replied'] })
  assert.deepEqual(await emailsIn(app, project), [])
  assert.deepEqual(await project.events(), ['subscriber.unsubscribed', 'email.bounced'])
  assert.deepEqual(await suppressionsOf(project), [[two.email, 'hard_bounce']])
  assert.equal(await waitingMail(app), 0)
})

test('a bounce to the mailbox about its own mail is applied and filed; STOP to the list unsubscribes and is filed', async () => {
  const { project, list, first } = await newSentPost(app, { subscribers: 1 })
  const stop = `STOP\r\n\r\n> see https://posthaste.test/u/${first.tokens.unsubscribe}`
  await fileMail(app, {
    recipients: [list.mailbox_address],
    from: first.email,
    envelope_from: first.email,
    subject: 'Re: Hello',
    text: stop,
  })
  assert.deepEqual(await project.events(), ['subscriber.unsubscribed', 'email.received'])
  const [email] = await emailsIn(app, project)
  assert.deepEqual(email?.handler_results, { unsubscribe: { status: 'applied' } })

  const box = await newMailbox(app)
  await box.project.post('/emails', { from: box.address, to: 'gone@example.com', subject: 'Offer', text: 'Hi' })
  await box.project.events()
  const raw = bounceOf('gone@example.com', await returnPathOfLast('gone@example.com'))
  await fileMail(app, { recipients: [box.address], envelope_from: '', raw })
  assert.deepEqual(await box.project.events(), ['email.bounced', 'email.received'])
  const [original, bounce] = await emailsIn(app, box.project)
  assert.deepEqual([original?.status, bounce?.handler_results, bounce?.is_automatic], ['bounced', { bounce: { status: 'applied' } }, true])
})

/** What the program gave as the return path of the newest mail to somebody. */
async function returnPathOfLast(to: string): Promise<string> {
  const row = await app.services.database.first<{ envelope_from: string }>`
    select envelope_from from captured_messages where envelope_to = ${to} order by id desc limit 1`
  return row?.envelope_from as string
}

function bounceOf(email: string, returnPath = ''): string {
  return [
    'From: mailer-daemon@mx.example.org',
    'Subject: Undelivered Mail Returned to Sender',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'It could not be delivered.',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.example.org',
    '',
    `Final-Recipient: rfc822; ${email}`,
    'Action: failed',
    'Status: 5.1.1',
    'Diagnostic-Code: smtp; 550 5.1.1 no such user',
    ...(returnPath ? ['--b', 'Content-Type: text/rfc822-headers', '', `Return-Path: <${returnPath}>`, 'Subject: Offer'] : []),
    '--b--',
    '',
  ].join('\r\n')
}

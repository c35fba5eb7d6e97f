import assert from 'node:assert/strict'
import { test } from 'node:test'
import PostalMime from 'postal-mime'
import { accept, emailsIn, fileMail, verdictsOf } from '../../../tests/support/inbound.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newProxyConversation, type Question } from '../../../tests/support/proxy.ts'
import { mailsTo, mailTo } from '../../../tests/support/received-mail.ts'
import { startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { until } from '../../../tests/support/until.ts'
import { type ContactId, formatId } from '../../base/ids.ts'
import { fileMessages } from './index.ts'

const peer = await startSmtpPeer({})
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })

const newConversation = (question: Question = {}) => newProxyConversation(app, peer, question)

const withPdf = (bytes: number) => ({
  headers: ['Content-Type: multipart/mixed; boundary="b"'],
  text: [
    ...['--b', 'Content-Type: text/plain', '', 'See it', '--b', 'Content-Type: application/pdf; name="a.pdf"'],
    ...['Content-Disposition: attachment; filename="a.pdf"', 'Content-Transfer-Encoding: base64', ''],
    ...(Buffer.alloc(bytes, '%PDF')
      .toString('base64')
      .match(/.{1,76}/g) ?? []),
    '--b--',
  ].join('\r\n'),
})

const noticesTo = (owner: string) =>
  app.services.database.many<{
    text: string
  }>`select mail->>'text' as text from messages where kind = 'reply_refused' and recipient_key = ${owner}`

const refusals: [why: string, change: object, reason: string, isTold: boolean][] = [
  [
    'another address of the owner',
    { from: 'me@elsewhere.example' },
    'It is not from the address that this mailbox passes mail on to',
    true,
  ],
  ['no proof of the writer', { verdicts: verdictsOf(null) }, 'Neither DKIM nor SPF proves that it is by the owner', true],
  ['a failed proof', { verdicts: verdictsOf(null, 'fail') }, 'Neither DKIM nor SPF proves that it is by the owner', true],
  ['the proof of another domain', { verdicts: verdictsOf('other.example') }, 'Neither DKIM nor SPF proves that it is by the owner', true],
  ['a program', { headers: ['Auto-Submitted: auto-replied'] }, 'A program wrote it', false],
  ['too much to carry', withPdf(10 * 1024 * 1024 + 1), 'It has more than 10 MB of attachments', true],
]
for (const [why, change, reason, isTold] of refusals)
  test(`an answer is kept and not passed on, and its owner ${isTold ? 'hears of it' : 'is left alone'}: ${why}`, async () => {
    const { project, owner, outside, answer, path, last } = await newConversation()
    await fileMail(app, { ...answer, ...change, subject: 'Re: Hello' })
    const kept = await last()
    assert.deepEqual(
      [kept?.direction, kept?.subject, kept?.handler_results],
      ['inbound', 'Re: Hello', { reply: { status: 'refused', reason } }],
    )
    assert.deepEqual(await project.events(), ['email.received'])
    const { body: listed } = await project.get(`${path}/emails`)
    assert.match((await project.get(`${path}/emails/${listed[0].id}/raw`)).body, /Subject: Re: Hello/)
    const notices = await noticesTo(owner)
    assert.equal(notices.length, Number(isTold))
    if (isTold) assert.ok(!notices[0]?.text.includes(outside) && notices[0]?.text.includes(`. ${reason}.`), notices[0]?.text)
    assert.equal(mailsTo(peer, outside).length, 0)
    const { count } = (await app.services.database.first<{ count: number }>`
      select count(*) as count from messages where project_id = ${project.id} and kind = 'proxy_reply'`) as { count: number }
    assert.equal(count, 0)
  })

test('an owner hears of twenty a day at most', async () => {
  const { owner, answer } = await newConversation()
  for (let count = 0; count < 22; count++) await fileMail(app, { ...answer, verdicts: verdictsOf(null) })
  assert.equal((await noticesTo(owner)).length, 20)
})

test('a mailbox that takes no mail sends none either', async () => {
  const { project, answer, path, last, owner } = await newConversation()
  const reasons: string[] = []
  const answerNow = async () => {
    await fileMail(app, answer)
    reasons.push((await last())?.handler_results?.reply?.reason ?? '')
  }
  for (const status of ['paused', 'disabled']) {
    assert.equal((await project.patch(path, { status })).status, 200)
    await answerNow()
  }
  await app.services.database
    .run`update mailboxes set expires_at = now() - interval '1 second' where project_id = ${project.id} and type = 'proxy'`
  await answerNow()
  assert.deepEqual(reasons, ['The mailbox is paused', 'The mailbox is disabled', 'The mailbox is expired'])
  assert.equal((await noticesTo(owner)).length, 3)
})

test('what an answer had with it goes along and stays with it, as the whole message does', async () => {
  const { project, outside, answer, path } = await newConversation()
  const { headers, text } = withPdf(5)
  await fileMail(app, { ...answer, headers: [...answer.headers, ...headers], text })
  const sent = await mailTo(peer, outside)
  assert.deepEqual(
    sent.attachments.map(({ filename, content }) => [filename, Buffer.from(content as ArrayBuffer).toString()]),
    [['a.pdf', '%PDF%']],
  )
  const { body: listed } = await project.get(`${path}/emails?direction=outbound`)
  const { body: email } = await project.get(`${path}/emails/${listed[0].id}`)
  assert.deepEqual(
    email.attachments.map(({ filename, size }: { filename: string; size: number }) => [filename, size]),
    [['a.pdf', 5]],
  )
  assert.equal((await project.get(`${path}/emails/${email.id}/attachments/1`)).status, 200)
  assert.match((await project.get(`${path}/emails/${email.id}/raw`)).body, /filename="a.pdf"/)
})

test('it is known who wrote and to whom; who gave no name is called by the first half of their address', async () => {
  const { project, forward, outside, answer, last } = await newConversation()
  assert.equal(forward.from?.name, `${outside.split('@')[0]} via Shop`)
  await fileMail(app, answer)
  const [contact] = (await project.get('/contacts')).body
  const row = (await last()) as { from_name?: string; contact_id?: string } | undefined
  const [sent] = (await project.eventsWithData()).filter(({ type }) => type === 'email.sent')
  assert.deepEqual([row?.from_name, contact.email, sent?.data.contact_id], ['Shop', outside, contact.id])
  assert.equal(row?.contact_id && formatId('con', row.contact_id as ContactId), contact.id)
})

test('a long conversation keeps where it began, both ways', async () => {
  const ids = Array.from({ length: 40 }, (_, index) => `<${'m'.repeat(30)}-${index}@outside.example>`)
  const { forward, outside, answer, question_id } = await newConversation({
    headers: [`References: ${ids.join(' ')}`, `In-Reply-To: ${ids.at(-1)}`],
  })
  const forwarded = forward.references?.split(' ') ?? []
  assert.deepEqual([forwarded[0], forwarded.at(-2), forwarded.length], [ids[0], ids.at(-1), 11])
  const all = [...ids, `<${question_id}>`, forward.messageId]
  await fileMail(app, { ...answer, headers: [`References: ${all.join(' ')}`, `In-Reply-To: ${forward.messageId}`] })
  const sent = await mailTo(peer, outside)
  const named = sent.references?.split(' ') ?? []
  assert.deepEqual([named[0], named.at(-1), sent.inReplyTo, named.length], [ids[0], all.at(-2), all.at(-2), 11])
})

test('one answer to two people is two mails; filed again, it is still two', async () => {
  const { project, outside, answer, owner, path } = await newConversation()
  const second = outside.replace('lea', 'max')
  const { address } = (await project.get(path)).body
  await fileMail(app, { recipients: [address], from: second, envelope_from: second })
  await until('the second forward', () => mailsTo(peer, owner).length === 2)
  const other = (await PostalMime.parse(mailsTo(peer, owner)[1]?.raw as Buffer)).from?.address as string
  const mail = await accept(app, { ...answer, recipients: [...answer.recipients, other] })
  await fileMessages(app.services, [mail])
  await fileMessages(app.services, [mail])
  await mailTo(peer, outside)
  await mailTo(peer, second)
  const sent = (await emailsIn(app, project)).filter(({ direction }) => direction === 'outbound')
  assert.deepEqual(sent.map(({ to_address }) => to_address).sort(), [outside, second].sort())
  assert.equal(new Set(sent.map(({ raw_key }) => raw_key)).size, 2)
})

test('who answers to the return path of an answer that was passed on is heard, in the same conversation', async () => {
  const { project, outside, answer, path } = await newConversation()
  await fileMail(app, answer)
  const { message } = await mailTo(peer, outside)
  await project.events()
  await fileMail(app, { recipients: [message.from], from: outside, envelope_from: outside, subject: 'Thank you' })
  assert.deepEqual(await project.events(), ['email.received', 'email.replied'])
  const { body: emails } = await project.get(`${path}/emails`)
  assert.deepEqual([emails.length, emails[0].subject, emails[0].direction], [3, 'Thank you', 'inbound'])
  assert.equal(new Set(emails.map(({ thread_id }: { thread_id: string }) => thread_id)).size, 1)
})

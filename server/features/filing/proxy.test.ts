import assert from 'node:assert/strict'
import { test } from 'node:test'
import PostalMime from 'postal-mime'
import { fileMail, verdictsOf } from '../../../tests/support/inbound.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { mailsTo, mailTo } from '../../../tests/support/received-mail.ts'
import { startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { until } from '../../../tests/support/until.ts'

const peer = await startSmtpPeer({})
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })

let number = 0
async function newProxy() {
  const project = await app.newProject()
  const owner = `owner-${++number}@home.example`
  const { status, body } = await project.post('/mailboxes', { type: 'proxy', name: 'Shop', config: { forward_to: owner } })
  assert.equal(status, 201, JSON.stringify(body))
  await project.events()
  return { project, owner, id: body.id as string, address: body.address as string }
}

interface Row {
  direction: string
  status: string
  reason: string | null
  message_id: string | null
  thread_id: string
  handler_results: { forward?: { status: string; reason?: string } } | null
}
const rowsOf = (project: TestProject) => app.services.database.many<Row>`select * from emails where project_id = ${project.id} order by id`
const forwardOf = async (project: TestProject) => (await rowsOf(project)).at(-1)?.handler_results?.forward
const queued = async (project: TestProject) =>
  (await app.services.database.first<{ count: number }>`select count(*) as count from messages where project_id = ${project.id}`)?.count

test('mail is passed on from an address that leads back, and the answer goes out from the mailbox without a trace of the owner', async () => {
  const { project, owner, address } = await newProxy()
  await fileMail(app, { recipients: [address], message_id: 'q@example.com', subject: 'A question', text: 'How much?' })
  assert.deepEqual(await project.events(), ['contact.created', 'email.received'])
  const forward = await mailTo(peer, owner)
  await until('the forward to be settled', async () => (await forwardOf(project))?.status === 'delivered')
  assert.equal(forward.from?.name, 'Ann via Shop')
  const through = forward.from?.address as string
  assert.match(through, /^reply\+[\da-f]{52}@posthaste\.test$/)
  assert.deepEqual([forward.replyTo?.[0]?.address, forward.subject, forward.text?.trim()], [through, 'A question', 'How much?'])
  assert.equal(forward.references, '<q@example.com>')
  assert.equal((await project.get('/usage')).body.emails_sent, 1)

  await fileMail(app, {
    recipients: [through.toUpperCase()],
    envelope_from: owner,
    from: `The Owner <${owner}>`,
    subject: 'Re: A question',
    headers: [
      `In-Reply-To: ${forward.messageId}`,
      `References: <q@example.com> ${forward.messageId}`,
      'Received: from laptop.home.example',
    ],
    text: `Ten.\r\n\r\nOn Monday Ann via Shop <${through}> wrote to ${owner}:\r\n> How much?`,
    verdicts: verdictsOf('home.example'),
  })
  const answer = await mailTo(peer, 'ann@example.com')
  assert.deepEqual([answer.from?.address, answer.from?.name, answer.subject], [address, 'Shop', 'Re: A question'])
  assert.deepEqual([answer.inReplyTo, answer.references], ['<q@example.com>', '<q@example.com>'])
  assert.match(answer.text ?? '', /^Ten\./)
  assert.doesNotMatch(Buffer.from(answer.message.raw).toString(), /home\.example|The Owner|reply\+/i)
  await until('the answer to be settled', async () => (await rowsOf(project)).at(-1)?.status === 'delivered')
  assert.deepEqual(await project.events(), ['email.sent', 'email.delivered'])
  const [question, sent] = await rowsOf(project)
  assert.deepEqual(
    [question?.status, sent?.direction, sent?.status, sent?.thread_id],
    ['replied', 'outbound', 'delivered', question?.thread_id],
  )
  assert.equal(answer.messageId, `<${sent?.message_id}>`)
  assert.equal((await project.get('/usage')).body.emails_sent, 2)

  await fileMail(app, { recipients: [address], subject: 'Re: A question', headers: [`In-Reply-To: ${answer.messageId}`] })
  assert.deepEqual(await project.events(), ['email.received', 'email.replied'])
  assert.equal((await rowsOf(project)).at(-1)?.thread_id, question?.thread_id)
  await until('the second forward', () => mailsTo(peer, owner).length === 2)
  assert.equal((await PostalMime.parse(mailsTo(peer, owner)[1]?.raw as Buffer)).from?.address, through, 'one address for one person')
})

test('attachments travel along', async () => {
  const { owner, address } = await newProxy()
  await fileMail(app, {
    recipients: [address],
    headers: ['Content-Type: multipart/mixed; boundary="b"'],
    text: [
      '--b',
      'Content-Type: text/plain',
      '',
      'See it',
      '--b',
      'Content-Type: application/pdf; name="a.pdf"',
      'Content-Disposition: attachment; filename="a.pdf"',
      'Content-Transfer-Encoding: base64',
      '',
      'JVBERi0=',
      '--b--',
    ].join('\r\n'),
  })
  const forward = await mailTo(peer, owner)
  assert.deepEqual(
    forward.attachments.map(({ filename, mimeType, content }) => [filename, mimeType, Buffer.from(content as ArrayBuffer).toString()]),
    [['a.pdf', 'application/pdf', '%PDF-']],
  )
})

test('nothing goes round: no bounces, and nothing that this mailbox has passed on', async () => {
  const { project, address, id } = await newProxy()
  await fileMail(app, { recipients: [address], envelope_from: '', from: 'mailer-daemon@example.com' })
  assert.deepEqual(await forwardOf(project), { status: 'refused', reason: 'It is a bounce' })
  await fileMail(app, { recipients: [address], headers: [`X-Posthaste-Forwarded: ${id}`] })
  assert.deepEqual(await forwardOf(project), { status: 'refused', reason: 'This mailbox has passed it on before' })
  const others = Array.from({ length: 5 }, (_, index) => `mbx_${String(index).repeat(26)}`).join(' ')
  await fileMail(app, { recipients: [address], headers: [`X-Posthaste-Forwarded: ${others}`] })
  assert.deepEqual(await forwardOf(project), { status: 'refused', reason: 'It has been passed on 5 times' })
  assert.equal(await queued(project), 0)
})

test('who is suppressed gets nothing, and a plan without room passes nothing on; the mail is kept all the same', async () => {
  const { project, owner, address } = await newProxy()
  await project.post('/suppressions', { email: owner })
  await project.events()
  await fileMail(app, { recipients: [address] })
  assert.deepEqual(await forwardOf(project), { status: 'refused', reason: 'The address is suppressed (manual)' })
  const second = await newProxy()
  await second.project.setPlan('anonymous')
  for (let count = 0; count < 10; count++) await fileMail(app, { recipients: [second.address] })
  await fileMail(app, { recipients: [second.address] })
  assert.deepEqual(await forwardOf(second.project), { status: 'refused', reason: 'The plan has no room for another e-mail this month' })
  const through = (await mailTo(peer, second.owner)).from?.address as string
  await second.project.events()
  const by = { from: second.owner, envelope_from: second.owner, verdicts: verdictsOf('home.example') }
  await fileMail(app, { recipients: [through], ...by })
  const failed = (await rowsOf(second.project)).at(-1)
  assert.deepEqual(
    [failed?.direction, failed?.status, failed?.reason],
    ['outbound', 'failed', 'The plan has no room for another e-mail this month'],
  )
  assert.deepEqual(await second.project.events(), [])
})

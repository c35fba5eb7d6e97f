import assert from 'node:assert/strict'
import { test } from 'node:test'
import { receive } from './support/inbound.ts'
import { startApp } from './support/posthaste.ts'
import { speaking } from './support/project.ts'
import { mailTo } from './support/received-mail.ts'
import { startSmtpPeer } from './support/smtp-peer.ts'

/**
 * What an agent lives through when it signs up somewhere, with mail that really travels both ways: it registers over HTTP, waits for the
 * code, which comes by SMTP, answers, and the answer arrives in the other mailbox as part of the conversation.
 */
const peer = await startSmtpPeer({})
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })

test('an agent registers, waits for a code that comes by mail, answers, and the answer is threaded', async () => {
  const { status, body } = await speaking(app.url, null).post('/agent/auth', { type: 'anonymous' })
  assert.equal(status, 201, JSON.stringify(body))
  const { credential, mailbox } = body.data
  const agent = speaking(app.url, credential)
  const path = `/mailboxes/${mailbox.id}/emails`
  assert.deepEqual((await agent.get(path)).body, [])

  const waiting = agent.get(`${path}?direction=inbound&wait=30`)
  await receive(app, mailbox.address, {
    from: 'Example Service <no-reply@service.example>',
    subject: 'Your sign-in code',
    message_id: 'code-1@service.example',
    headers: ['References: <welcome@service.example>'],
    text: 'Hello,\r\n\r\nyour verification code is 739154.\r\nIt is valid for ten minutes.',
  })
  const { status: found, headers, body: emails } = await waiting
  assert.equal(found, 200, JSON.stringify(emails))
  assert.deepEqual(
    emails.map(({ subject, from_address, status }: Record<string, string>) => [subject, from_address, status]),
    [['Your sign-in code', 'no-reply@service.example', 'received']],
  )
  const { body: email } = await agent.get(`${path}/${emails[0].id}`)
  assert.equal(email.extracted_data.code, '739154')
  assert.equal(email.message_id, 'code-1@service.example')

  const reply = await agent.post(path, {
    to_address: 'help@service.example',
    subject: 'Re: Your sign-in code',
    text_body: 'It does not work.',
    in_reply_to: email.message_id,
  })
  assert.equal(reply.status, 201, JSON.stringify(reply.body))
  const arrived = await mailTo(peer, 'help@service.example')
  assert.equal(arrived.from?.address, mailbox.address)
  assert.equal(arrived.inReplyTo, '<code-1@service.example>')
  assert.equal(arrived.references, '<welcome@service.example> <code-1@service.example>')
  assert.equal(arrived.messageId, `<${reply.body.message_id}>`)
  assert.equal((await agent.get(`${path}/${emails[0].id}`)).body.status, 'replied')

  const next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] as string
  const answer = agent.get(next.replace(/^.*(?=\/v1\/)/, ''))
  await receive(app, mailbox.address, {
    from: 'Help <help@service.example>',
    subject: 'Re: Your sign-in code',
    headers: [`In-Reply-To: ${arrived.messageId}`],
    text: 'Try it now.',
  })
  assert.deepEqual(
    (await answer).body.map(({ from_address }: { from_address: string }) => from_address),
    ['help@service.example'],
  )
  const { body: threads } = await agent.get(`/mailboxes/${mailbox.id}/threads`)
  assert.deepEqual([threads.length, threads[0].email_count ?? threads[0].count], [1, 3])
  assert.equal((await agent.get(`${path}/${reply.body.id}`)).body.status, 'replied')
})

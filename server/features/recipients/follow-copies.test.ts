import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emailsIn, fileMail } from '../../../tests/support/inbound.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newProxyConversation } from '../../../tests/support/proxy.ts'
import { mailsTo, mailTo } from '../../../tests/support/received-mail.ts'
import { suppressionsOf } from '../../../tests/support/recipients.ts'
import { bounceAbout, complaintAbout } from '../../../tests/support/reports.ts'
import { type PeerAction, type PeerCall, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { until } from '../../../tests/support/until.ts'
import { parseVerp } from '../../mail/verp.ts'

/** What becomes of the mail that proxy mailboxes pass on, one way and the other. */
let atRcpt: (call: PeerCall) => PeerAction | undefined = () => undefined
const peer = await startSmtpPeer({ atRcpt: (call) => atRcpt(call) as PeerAction })
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })

const tokenTo = (email: string) => ({ email, token: parseVerp(mailsTo(peer, email).at(-1)?.from ?? '') ?? assert.fail('no VERP') })
const refuse = (address: string) => {
  atRcpt = ({ line }) => (line.includes(address) ? '550 5.1.1 no such user' : undefined)
}

/** Once the owner's answer has arrived. */
async function newAnswer() {
  const conversation = await newProxyConversation(app, peer)
  await fileMail(app, conversation.answer)
  await mailTo(peer, conversation.outside)
  await until('the answer to be settled', async () => (await conversation.last())?.status === 'delivered')
  return conversation
}

test('an answer that arrives is delivered; when it bounces later, its record, the suppressions and one event tell', async () => {
  const { project, outside, last } = await newAnswer()
  assert.deepEqual(await project.events(), ['email.sent', 'email.delivered'])
  assert.equal(await bounceAbout(app, tokenTo(outside)), 'bounce')
  assert.equal((await last())?.status, 'bounced')
  assert.deepEqual(await suppressionsOf(project), [[outside, 'hard_bounce']])
  const told = await project.eventsWithData()
  const bounced = told.filter(({ type }) => type === 'email.bounced')
  assert.deepEqual([bounced.length, bounced[0]?.data.to], [1, outside])
  assert.equal((await project.get('/usage')).body.emails_sent, 2)
  await bounceAbout(app, tokenTo(outside))
  assert.deepEqual(await project.events(), [])
})

test('an answer that is reported as spam', async () => {
  const { project, outside, last } = await newAnswer()
  await project.events()
  assert.equal(await complaintAbout(app, tokenTo(outside)), 'complaint')
  assert.equal((await last())?.status, 'complained')
  assert.deepEqual(await suppressionsOf(project), [[outside, 'complaint']])
  assert.ok((await project.events()).includes('email.complained'))
})

test('an answer that is refused at once is not counted', async () => {
  const { project, outside, answer, last } = await newProxyConversation(app, peer)
  refuse(outside)
  await fileMail(app, answer)
  await until('the answer to bounce', async () => (await last())?.status === 'bounced')
  assert.deepEqual(await suppressionsOf(project), [[outside, 'hard_bounce']])
  const told = (await project.events()).filter((type) => type.startsWith('email.'))
  assert.deepEqual(told, ['email.sent', 'email.bounced'])
  assert.equal((await project.get('/usage')).body.emails_sent, 1, 'the forward alone')
})

test('an owner’s address that is dead gets no more, at once or later, and the e-mails say so', async () => {
  const first = await newProxyConversation(app, peer)
  assert.equal(await bounceAbout(app, tokenTo(first.owner)), 'bounce')
  const second = await newProxyConversation(app, peer)
  refuse(second.owner)
  await fileMail(app, { recipients: [second.address] })
  const forwardOf = async () => (await second.last())?.handler_results?.forward
  await until('the forward to bounce', async () => (await forwardOf())?.status === 'bounced')
  assert.equal((await second.project.get('/usage')).body.emails_sent, 1, 'the first forward alone')
  for (const { project, owner, address } of [first, second]) {
    assert.deepEqual(await suppressionsOf(project), [[owner, 'hard_bounce']])
    await fileMail(app, { recipients: [address] })
    const emails = await emailsIn(app, project)
    assert.deepEqual(emails.at(-1)?.handler_results?.forward, { status: 'refused', reason: 'The address is suppressed (hard_bounce)' })
    assert.ok(emails.some(({ handler_results }) => handler_results?.forward?.status === 'bounced'))
  }
})

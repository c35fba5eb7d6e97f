import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { emailsIn, fileMail, newMailbox } from '../../../tests/support/inbound.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { sesOutbound, startSesPeer } from '../../../tests/support/ses-peer.ts'

const peer = await startSesPeer()
const app = await startApp({ OUTBOUND: sesOutbound(peer) })
after(() => app.stop().then(() => peer.close()))

test('an answer to a mail that the relay gave a name of its own is known by that name', async () => {
  const { project, address } = await newMailbox(app)
  const { status, body: sent } = await project.post('/emails', { from: address, to: 'ann@example.com', subject: 'Offer', text: 'Hi' })
  assert.equal(status, 201)
  assert.match(sent.provider_message_id, /^ses-\d+@eu-west-1\.amazonses\.com$/)
  assert.equal((await project.get(`/emails/${sent.id}`)).body.provider_message_id, sent.provider_message_id)
  assert.deepEqual(
    (await project.eventsWithData()).map(({ type, data }) => [type, data.message_id]),
    [
      ['email.sent', sent.provider_message_id],
      ['email.delivered', sent.provider_message_id],
    ],
  )
  await fileMail(app, { recipients: [address], subject: 'A question', headers: [`In-Reply-To: <${sent.provider_message_id}>`] })
  assert.deepEqual(await project.events(), ['contact.created', 'email.received', 'email.replied'])
  const [original, answer] = await emailsIn(app, project)
  assert.deepEqual([original?.status, answer?.thread_id], ['replied', original?.thread_id])
})

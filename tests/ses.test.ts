import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startApp } from './support/posthaste.ts'
import { newPost } from './support/posts.ts'
import { ledgerOf, newSentPost, suppressionsOf, type TestRecipient } from './support/recipients.ts'
import { type SesMessage, sesOutbound, startSesPeer } from './support/ses-peer.ts'
import { snsMessage, snsTopic, startSnsPeer } from './support/sns-peer.ts'
import { until } from './support/until.ts'

/** The whole way: out through the API of Amazon SES, and back through Amazon SNS. */
const ses = await startSesPeer()
const sns = await startSnsPeer()
const app = await startApp({
  OUTBOUND: sesOutbound(ses, '&configuration_set=news'),
  SES_TOPICS: snsTopic,
  SNS_HOST: sns.host,
  ALLOW_PRIVATE_WEBHOOKS: 'true',
})
after(async () => {
  await app.stop()
  sns.stop()
  await ses.close()
})

/** What SES publishes about a message that it took: its own tags come back with it. */
const tell = async ({ to, tags }: SesMessage, about: object) => {
  const mail = { messageId: 'x', destination: to, tags: Object.fromEntries(Object.entries(tags).map(([name, value]) => [name, [value]])) }
  const body = JSON.stringify(snsMessage(sns, app.clock.now(), { Message: JSON.stringify({ mail, ...about }) }))
  assert.equal((await fetch(`${app.url}/hooks/ses`, { method: 'POST', headers: { 'content-type': 'text/plain' }, body })).status, 200)
}
const sentTo = (address: string) => ses.messages.find(({ to }) => to[0] === address) ?? assert.fail(`nothing was sent to ${address}`)
const hardBounce = {
  eventType: 'Bounce',
  bounce: { bounceType: 'Permanent', bounceSubType: 'NoEmail', bouncedRecipients: [{ status: '5.1.1' }] },
}

test('a post goes out to each reader once, and what comes back finds its row', async () => {
  const { project, recipients } = await newSentPost(app, { subscribers: 5, tracked: false })
  for (const { email, tokens } of recipients) {
    const sent = ses.messages.filter(({ to }) => to[0] === email)
    assert.deepEqual(
      sent.map(({ tags, configuration_set }) => [tags['posthaste-token'], configuration_set]),
      [[tokens.return_path, 'news']],
    )
    assert.match(sent[0]?.raw ?? '', /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m)
  }
  const [one, two] = recipients as [TestRecipient, TestRecipient]
  await tell(sentTo(one.email), hardBounce)
  await tell(sentTo(two.email), { eventType: 'Complaint', complaint: { complainedRecipients: [] } })
  assert.deepEqual(await project.events(), ['email.bounced', 'email.complained', 'subscriber.unsubscribed'])
  assert.deepEqual([(await ledgerOf(app, project, one))?.status, (await ledgerOf(app, project, two))?.status], ['bounced', 'complained'])
  assert.deepEqual((await suppressionsOf(project)).sort(), [
    [one.email, 'hard_bounce'],
    [two.email, 'complaint'],
  ])
})

test('a single mail that bounces is known by its token as well', async () => {
  const { project, list } = await newPost(app)
  const to = 'single@example.org'
  const { status } = await project.post('/emails', { from: list.mailbox_address, to, subject: 'Hi', text: 'Hello' })
  assert.equal(status, 201)
  await project.events()
  await tell(sentTo(to), hardBounce)
  assert.deepEqual(await project.events(), ['email.bounced'])
  assert.deepEqual(await suppressionsOf(project), [[to, 'hard_bounce']])
})

test('while SES asks to wait, nobody is lost and nobody bounces', async () => {
  ses.next(...Array.from({ length: 3 }, () => ({ error: 'TooManyRequestsException', status: 429 })))
  const { project, path } = await newPost(app, { subscribers: 4 })
  await project.post(`${path}/send`)
  await until('three to be put off', async () => {
    const rows = await app.services.database.many<{ status: string; reason: string | null }>`
      select status, reason from deliveries where project_id = ${project.id} and status = 'queued' and reason is not null`
    return rows.length === 3 && rows.every(({ reason }) => reason === 'Amazon SES asks to send more slowly')
  })
  app.clock.advance(3_600_000)
  await until('all to be sent', async () => (await project.get(path)).body.status === 'sent', { withinMs: 15_000 })
  assert.deepEqual(await suppressionsOf(project), [])
})

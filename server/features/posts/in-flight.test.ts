import assert from 'node:assert/strict'
import { test } from 'node:test'
import PostalMime from 'postal-mime'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newPost } from '../../../tests/support/posts.ts'
import { type PeerAction, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { until } from '../../../tests/support/until.ts'

/** What happens to a post, its list and its readers between the press of "send" and the last delivery. */
let atRcpt: PeerAction | undefined
const peer = await startSmtpPeer({ atRcpt: () => atRcpt })
test.after(() => peer.close())
/** Nothing is sent here: the tests start a sender when all is prepared. */
const app = await startApp({ ROLES: 'http,consumers' })
const startSender = () =>
  startApp({ ROLES: 'sender', OUTBOUND: `smtp://127.0.0.1:${peer.port}` }, { connection: app.connection, clock: app.clock })

test('words and people are those of the press: who comes later is not written to, who leaves is not, edits wait for the next post', async () => {
  const { project, list, path } = await newPost(app, { subscribers: 3, body: { subject: 'As pressed', body_text: 'First words' } })
  assert.deepEqual((await project.post(`${path}/send`)).body, { status: 'sending', recipients: 3 })
  await project.events()
  await project.post(`/lists/${list.id}/subscribers`, { email: 'late@example.org', verified: true })
  const { body: leaving } = await project.get(`/lists/${list.id}/subscribers?search=reader-2`)
  await project.patch(`/lists/${list.id}/subscribers/${leaving[0].id}`, { status: 'unsubscribed' })
  await project.patch(`/lists/${list.id}`, { name: 'Renamed' })
  const { body: before } = await project.get(path)
  await project.events()
  for (const step of ['sending', 'paused'] as const) {
    if (step === 'paused') assert.equal((await project.post(`${path}/pause`)).status, 200)
    await project.events()
    for (const refused of [
      await project.patch(path, { subject: 'Edited' }),
      await project.delete(path),
      await project.post(`${path}/send`),
    ]) {
      assert.deepEqual([refused.status, refused.body.error.code], [422, 'validation_error'])
      assert.match(refused.body.error.message, new RegExp(`^status: is ${step}; `))
    }
    assert.equal((await project.get(path)).body.subject, before.subject)
    assert.deepEqual(await project.events(), [])
  }
  const sender = await startSender()
  assert.equal((await project.post(`${path}/resume`)).status, 200)
  const post = await until('the end', async () => {
    const { body } = await project.get(path)
    return body.status === 'sent' ? body : null
  })
  await sender.stop()
  assert.deepEqual(peer.messages.flatMap(({ to }) => to).sort(), ['reader-1@example.org', 'reader-3@example.org'])
  const mail = await PostalMime.parse(peer.messages[0]?.raw as Buffer)
  assert.deepEqual([mail.subject, mail.from?.name], ['As pressed', 'News'])
  assert.match(mail.text ?? '', /^First words/)
  assert.deepEqual([post.stats.recipients, post.stats.delivered], [3, 2])
  assert.deepEqual(await project.events(), ['post.resumed', 'post.delivered'])
})

test('two senders find one broadcast, and each reader gets one copy', async () => {
  peer.messages.length = 0
  atRcpt = { delayMs: 5 }
  const { project, path } = await newPost(app, { subscribers: 30 })
  await project.post(`${path}/send`)
  const senders = await Promise.all([startSender(), startSender()])
  await until('the end', async () => (await project.get(path)).body.status === 'sent')
  for (const sender of senders) await sender.stop()
  assert.deepEqual(
    peer.messages.flatMap(({ to }) => to).sort(),
    Array.from({ length: 30 }, (_, index) => `reader-${index + 1}@example.org`).sort(),
  )
  assert.deepEqual(await project.events(), ['post.sent', 'post.delivered'])
})

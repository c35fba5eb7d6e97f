import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from './support/posthaste.ts'
import { newPost } from './support/posts.ts'
import type { TestProject } from './support/project.ts'
import { type PeerAction, type PeerCall, startSmtpPeer } from './support/smtp-peer.ts'
import { until } from './support/until.ts'

/** What the ledger, the bill and the peer say of one post, from the first attempt to the last. */
let atRcpt: (call: PeerCall) => PeerAction | undefined = () => undefined
const peer = await startSmtpPeer({ atRcpt: (call) => atRcpt(call) as PeerAction })
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })

/** In all months: the clock runs for days here. */
const sentBy = async (project: TestProject): Promise<number> =>
  (await app.services.database.first<{ used: number }>`select sum(used)::int as used from usage_periods where project_id = ${project.id}`)
    ?.used ?? 0
const statuses = async (project: TestProject, path: string): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await project.get(`${path}/deliveries`)).body.map(({ email, status }: Record<string, string>) => [email?.split('@')[0], status]),
  )
const addressees = () => peer.messages.flatMap(({ to }) => to).sort()

test('given up, given back, tried again and delivered: once to each', async () => {
  atRcpt = ({ line }) =>
    line.includes('reader-2@') ? '452 4.2.2 mailbox full' : line.includes('reader-3@') ? '552 5.3.4 too large' : undefined
  const { project, path } = await newPost(app, { subscribers: 3 })
  await project.post(`${path}/send`)
  assert.equal(await sentBy(project), 3)
  let seen = 0
  const isGivenUp = async () => {
    const [open] = (await project.get(`${path}/deliveries?status=queued`)).body
    // Longer than the longest wait, once after each attempt.
    if (open?.attempts > seen) {
      seen = open.attempts
      app.clock.advance(17 * 3_600_000)
    }
    return (await project.get(path)).body.status === 'sent'
  }
  await until('it to be given up', isGivenUp, { withinMs: 30_000 })
  assert.deepEqual(await statuses(project, path), { 'reader-1': 'delivered', 'reader-2': 'failed', 'reader-3': 'bounced' })
  await until('it to be given back', async () => (await sentBy(project)) === 2)
  const [failed] = (await project.get(`${path}/deliveries?status=failed`)).body
  assert.deepEqual([failed.smtp_code, failed.enhanced_code, failed.reason], [452, '4.2.2', 'The mailbox is full'])
  assert.deepEqual(
    (await project.events()).filter((type) => type.startsWith('post.')),
    ['post.sent', 'post.delivered'],
  )

  atRcpt = () => undefined
  assert.deepEqual((await project.post(`${path}/deliveries/retry`)).body, { retried: 1 })
  const { sent_at } = (await project.get(path)).body
  const post = await until('the end', async () => {
    const { body } = await project.get(path)
    return body.sending ? null : body
  })
  assert.deepEqual(await statuses(project, path), { 'reader-1': 'delivered', 'reader-2': 'delivered', 'reader-3': 'bounced' })
  assert.deepEqual([post.stats.delivered, post.stats.bounced, post.sent_at], [2, 1, sent_at])
  assert.deepEqual(addressees(), ['reader-1@example.org', 'reader-2@example.org'])
  assert.deepEqual(
    (await project.events()).filter((type) => type.startsWith('post.')),
    ['post.resumed', 'post.delivered'],
  )
  assert.equal(await sentBy(project), 3)
})

test('an aborted broadcast gives back what it did not send', async () => {
  peer.messages.length = 0
  atRcpt = ({ line }) => (line.includes('reader-1@') ? undefined : '450 4.2.0 later')
  const { project, path } = await newPost(app, { subscribers: 4 })
  await project.post(`${path}/send`)
  await until('all to be tried', async () => {
    const { body } = await project.get(`${path}/deliveries`)
    return body.length === 4 && body.every(({ attempts, status }: Record<string, unknown>) => attempts === 1 && status !== 'sending')
  })
  assert.equal(await sentBy(project), 4)
  assert.equal((await project.post(`${path}/abort`)).status, 200)
  await until('it to be given back', async () => (await sentBy(project)) === 1)
  assert.deepEqual(Object.values(await statuses(project, path)), ['delivered', 'failed', 'failed', 'failed'])
  const refused = await project.post(`${path}/deliveries/retry`)
  assert.deepEqual([refused.status, refused.body.error.code], [422, 'validation_error'])
  assert.deepEqual(
    (await project.events()).filter((type) => type.startsWith('post.')),
    ['post.sent', 'post.cancelled'],
  )
})

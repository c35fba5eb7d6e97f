import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp, type TestApp } from '../../../tests/support/posthaste.ts'
import { newPost } from '../../../tests/support/posts.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { type PeerAction, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { until } from '../../../tests/support/until.ts'
import { moveRest } from './move-rest.ts'

/** An agent's project becomes part of a human's while one of its posts is being sent. Leases are short: what was lost would come twice. */
let atDot: PeerAction | undefined
const peer = await startSmtpPeer({ atDot: () => atDot })
test.after(() => peer.close())
/** Nothing is sent here: senders are started by the tests. */
const app = await startApp({ ROLES: 'http,consumers' })
const { database } = app.services

const startSender = (): Promise<TestApp> =>
  startApp(
    { ROLES: 'sender,scheduler', OUTBOUND: `smtp://127.0.0.1:${peer.port}`, LEASE_SECONDS: '2' },
    { connection: app.connection, clock: app.clock },
  )

const readers = (count: number) => Array.from({ length: count }, (_, index) => `reader-${index + 1}@example.org`).sort()
const addressees = () => peer.messages.flatMap(({ to }) => to).sort()

const sent = (project: TestProject, path: string) =>
  until('the post to be sent', async () => {
    const { body } = await project.get(path)
    return body.status === 'sent' && !body.sending ? body : null
  })

/** What of the agent's is left where it was. */
const leftIn = async (project: TestProject) =>
  (
    await database.many<{ place: string }>`
      select 'broadcasts' as place from broadcasts where project_id = ${project.id}
      union all select 'deliveries' from deliveries where project_id = ${project.id}
      union all select 'links' from broadcast_links where project_id = ${project.id}
      union all select 'posts' from posts where project_id = ${project.id}`
  ).map(({ place }) => place)

test('nobody was written to yet: all are, from the new place', async () => {
  const human = await app.newProject()
  const { project: agent, path } = await newPost(app, { subscribers: 7 })
  await agent.post(`${path}/send`)
  await moveRest.run(app.services, { from: agent.id, to: human.id })
  const sender = await startSender()
  const post = await sent(human, path)
  await sender.stop()
  assert.deepEqual(addressees(), readers(7))
  assert.deepEqual(post.stats, { recipients: 7, delivered: 7, opened: 0, clicked: 0, bounced: 0 })
  assert.deepEqual(
    (await human.events()).filter((type) => type.startsWith('post.')),
    ['post.delivered'],
  )
  assert.deepEqual(await leftIn(agent), [])
})

test('in the middle of it: nobody gets it twice, and everybody gets it', async () => {
  peer.messages.length = 0
  const human = await app.newProject()
  const { project: agent, path } = await newPost(app, {
    subscribers: 40,
    body: { body_html: '<p>{{ contact.city }} <a href="https://example.org">x</a></p>' },
  })
  await agent.post(`${path}/send`)
  atDot = { delayMs: 1_000 }
  const sender = await startSender()
  await until('some to be on the wire, unanswered', () => peer.refused.length > 0)
  await moveRest.run(app.services, { from: agent.id, to: human.id })
  atDot = undefined
  const post = await sent(human, path)
  assert.deepEqual(addressees(), readers(40))
  assert.deepEqual([post.stats.recipients, post.stats.delivered], [40, 40])
  await moveRest.run(app.services, { from: agent.id, to: human.id })
  assert.deepEqual(await leftIn(agent), [])
  await sender.stop()
})

test('what is put off is tried again from the new place, and paused stays paused', async () => {
  peer.messages.length = 0
  const human = await app.newProject()
  const { project: agent, path } = await newPost(app, { subscribers: 3 })
  await agent.post(`${path}/send`)
  atDot = '451 4.3.0 not now'
  const sender = await startSender()
  const open = () => database.many<{ attempts: number }>`
    select attempts from deliveries where project_id = any(${[agent.id, human.id]}::uuid[]) and status = 'queued' and attempts = 1`
  await until('all to be put off', async () => (await open()).length === 3)
  assert.equal((await agent.post(`${path}/pause`)).status, 200)
  await moveRest.run(app.services, { from: agent.id, to: human.id })
  atDot = undefined
  app.clock.advance(3_600_000)
  const { status, reason } = (await human.get(path)).body.broadcast
  assert.deepEqual([status, reason], ['paused', 'Paused by hand'])
  assert.equal(peer.messages.length, 0)
  assert.equal((await human.post(`${path}/resume`)).status, 200)
  await sent(human, path)
  assert.deepEqual(addressees(), readers(3))
  await sender.stop()
})

test('the days on which mail to somebody failed count together', async () => {
  const human = await app.newProject()
  const { project: agent } = await newPost(app, { subscribers: 1 })
  await newPost(app, { project: human, subscribers: 1 })
  const setDays = (project: TestProject, days: string[]) =>
    database.run`update contacts set soft_bounced_on = ${days}::date[] where project_id = ${project.id}`
  await setDays(human, ['2026-01-02', '2026-01-03'])
  await setDays(agent, ['2026-01-01', '2026-01-03'])
  await moveRest.run(app.services, { from: agent.id, to: human.id })
  const days = await database.many`select soft_bounced_on::text[] as days from contacts where project_id = ${human.id}`
  assert.deepEqual(days, [{ days: ['2026-01-01', '2026-01-02', '2026-01-03'] }])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newPost } from '../../../tests/support/posts.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { newSentPost, recipientsOf, suppressionsOf, type TestRecipient } from '../../../tests/support/recipients.ts'
import { type PeerAction, type PeerCall, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { assertCounts } from '../../../tests/support/subscribers.ts'
import { until } from '../../../tests/support/until.ts'
import { newWaitlist } from '../../../tests/support/waitlists.ts'
import { type ListId, parseId } from '../../base/ids.ts'
import { lockSubscriber } from '../subscribers/index.ts'
import type { SubscriberRow } from '../subscribers/subscriber.ts'
import { lockLine } from '../waiting-lines/index.ts'
import { followBounces } from './follow-bounces.ts'
import { drawAllConsequences } from './give-up-address.ts'

let atRcpt: (call: PeerCall) => PeerAction | undefined = () => undefined
const peer = await startSmtpPeer({ atRcpt: (call) => atRcpt(call) as PeerAction })
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
const { database } = app.services

const unfollowed = async (project: TestProject) =>
  (
    await database.first<{ count: number }>`
    select count(*) as count from deliveries where project_id = ${project.id} and status in ('bounced', 'failed') and followed_at is null`
  )?.count as number

test('what the receiving server refuses at once ends the address only when it is the address that is wrong', async () => {
  const answers: Record<string, string> = {
    'reader-1@': '550 5.1.1 no such user',
    'reader-2@': '550 5.7.1 blocked by our policy',
    'reader-3@': '552 5.2.2 mailbox full',
    'reader-4@': '550 5.2.1 mailbox disabled',
    'reader-5@': '554 5.1.8 bad sender',
  }
  atRcpt = ({ line }) => Object.entries(answers).find(([who]) => line.includes(who))?.[1]
  const { project, list, path, post } = await newPost(app, { subscribers: 6 })
  await project.post(`${path}/send`)
  await until('the end', async () => (await project.get(path)).body.status === 'sent')
  await until('all to be followed', async () => (await unfollowed(project)) === 0)
  atRcpt = () => undefined
  await assertCounts(app, project, list.id, { active: 4, bounced: 2 })
  assert.deepEqual((await suppressionsOf(project)).sort(), [
    ['reader-1@example.org', 'hard_bounce'],
    ['reader-4@example.org', 'hard_bounce'],
  ])
  const told = (await project.eventsWithData()).filter(({ type }) => type === 'email.bounced')
  const bounced = ['reader-1@example.org', 'reader-2@example.org', 'reader-3@example.org', 'reader-4@example.org', 'reader-5@example.org']
  assert.deepEqual(told.map(({ data }) => data.to).sort(), bounced)
  for (const { data } of told) {
    assert.deepEqual([data.list_id, data.post_id, data.subject, data.from], [list.id, post.id, 'Hello', list.mailbox_address])
    assert.match(
      [data.email_id, data.subscriber_id, data.contact_id, data.mailbox_id, data.message_id].join(' '),
      /^eml_\w{26} sub_\w{26} con_\w{26} mbx_\w{26} dlv_\w{26}@posthaste\.test$/,
    )
  }
  assert.equal((await project.get(path)).body.stats.bounced, 5)
})

test('many at once, followed by several, are each followed once', async () => {
  const { project, list, post } = await newSentPost(app, { subscribers: 40 })
  await settleAs(project, await recipientsOf(app, project, post.id), { status: 'bounced', smtp_code: 550, bounce_class: 'hard' })
  await Promise.all([1, 2, 3].map(() => followBounces(app.services)))
  await until('all to be followed', async () => (await unfollowed(project)) === 0)
  assert.deepEqual(await project.events(), Array(40).fill('email.bounced'))
  await assertCounts(app, project, list.id, { bounced: 40 })
  assert.equal((await suppressionsOf(project)).length, 40)
  assert.equal(await followBounces(app.services), false)
  assert.deepEqual(await project.events(), [])
})

test('a mailbox that stayed full until we gave up counts as soft; an outage of ours does not', async () => {
  const { project, list, recipients } = await newSentPost(app, { subscribers: 2 })
  const [full, away] = recipients as [TestRecipient, TestRecipient]
  const softDays = () => database.many<{ email: string; days: number }>`
    select email, cardinality(soft_bounced_on) as days from contacts where project_id = ${project.id} order by email`
  await settleAs(project, [full], { status: 'failed', smtp_code: 452, bounce_class: 'soft' })
  await settleAs(project, [away], { status: 'failed', smtp_code: null, bounce_class: null })
  await until('the one to be followed', async () => (await unfollowed(project)) === 1)
  assert.deepEqual(
    (await softDays()).map(({ days }) => days),
    [1, 0],
  )
  assert.deepEqual(await project.events(), [], 'given up is not bounced')

  // Tried again, it fails for good: that is news.
  app.clock.advance(1_000)
  await settleAs(project, [full], { status: 'bounced', smtp_code: 550, bounce_class: 'hard' })
  await until('the event', async () => (await project.events()).includes('email.bounced'))
  await assertCounts(app, project, list.id, { active: 1, bounced: 1 })
})

test('a bounce of a list that is gone harms nobody', async () => {
  const { project, first } = await newSentPost(app)
  await database.run`update lists set deleted_at = now() where project_id = ${project.id}`
  await database.run`delete from subscribers where project_id = ${project.id}`
  await settleAs(project, [first], { status: 'bounced', smtp_code: 550, bounce_class: 'hard' })
  await until('it to be followed', async () => (await unfollowed(project)) === 0)
  assert.deepEqual(await suppressionsOf(project), [[first.email, 'hard_bounce']])
  const [told] = await project.eventsWithData()
  assert.deepEqual([told?.type, told?.data.mailbox_id], ['email.bounced', null])
})

/** As the engine leaves them. */
const settleAs = (
  project: TestProject,
  recipients: TestRecipient[],
  { status, smtp_code, bounce_class }: { status: string; smtp_code: number | null; bounce_class: 'hard' | 'soft' | null },
) => database.run`
  update deliveries set status = ${status}, smtp_code = ${smtp_code}, bounce_class = ${bounce_class}, reason = 'So it said', settled_at = ${app.clock.now()}
  where project_id = ${project.id} and id = any(${recipients.map(({ id }) => id)}::uuid[])`

test('of several people the subscribers are held first, then the counters, then the waiting line: nobody waits in a circle', async () => {
  const { project, ...list } = await newWaitlist(app)
  for (const email of ['ann@example.org', 'ben@example.org']) await project.post(`${list.path}/subscribers`, { email, verified: true })
  const key = { project_id: project.id, list_id: parseId('lst', list.id) as ListId }
  const [ann, ben] = await database.many<SubscriberRow>`
    select * from subscribers where project_id = ${project.id} and list_id = ${key.list_id} order by id`
  assert.ok(ann && ben)
  const bounceOf = ({ contact_id, email }: SubscriberRow) => ({
    to: { project_id: project.id, contact_id, email: email as string },
    failure: { bounce_class: 'hard' as const, reason: '550 5.1.1 no such user', at: app.clock.now() },
  })
  let bouncing: Promise<unknown> | undefined
  let tries = 0
  await database.transaction(async (tx) => {
    tries++
    await lockSubscriber(tx, { ...key, subscriber_id: ben.id })
    bouncing ??= database.transaction((other) => {
      tries++
      return drawAllConsequences(other, [bounceOf(ann), bounceOf(ben)])
    })
    await until('the batch to wait for ben', async () => {
      const waiting = await database.first`
        select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%update subscribers s set status = ''bounced''%' and pid <> pg_backend_pid()`
      return waiting !== null
    })
    await lockLine(tx, key)
  })
  await bouncing
  assert.equal(tries, 2, 'each was tried once')
  await assertCounts(app, project, list.id, { bounced: 2 })
  assert.deepEqual(Object.values(await list.standings()), [
    [null, null],
    [null, null],
  ])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { countsOf, ledgerOf, newSentPost, recipientsOf, suppressionsOf, type TestRecipient } from '../../../tests/support/recipients.ts'
import { assertCounts } from '../../../tests/support/subscribers.ts'
import { until } from '../../../tests/support/until.ts'
import { formatId, newId } from '../../base/ids.ts'
import type { BounceAction, BounceClass, BouncedRecipient, BounceReport, Complaint } from '../../mail/reports/report.ts'
import { applyReport } from './apply-report.ts'

const app = await startApp()
const { services } = app
const day = 86_400_000

const original = { message_id: null, to: null, headers: {} }
const bounceOf = (...recipients: [string | null, BounceClass, BounceAction?][]): BounceReport => ({
  kind: 'bounce',
  recipients: recipients.map(([address, kind, action = 'failed']) => ({
    address,
    action,
    status: kind === 'hard' ? '5.1.1' : kind === 'policy' ? '5.7.1' : '5.2.2',
    diagnostic: null,
    class: kind,
    reason: kind === 'hard' ? 'There is no such mailbox' : 'The mailbox is full',
  })),
  original,
})
const complaint: Complaint = { kind: 'complaint', feedback_type: 'abuse', address: null, original, user_agent: null, source_ip: null }
const apply = (project: TestProject, { id }: TestRecipient, report: BounceReport | Complaint) =>
  applyReport(services, { kind: 'delivery', project_id: project.id, id }, report)
/** One more post to the same list, sent; its one recipient. */
async function sendAgain(project: TestProject, listId: string): Promise<TestRecipient> {
  const { body: post } = await project.post(`/lists/${listId}/posts`, { subject: 'Again', body_html: '<p>Hi</p>' })
  const path = `/lists/${listId}/posts/${post.id}`
  await project.post(`${path}/send`)
  await until('the post to be sent', async () => (await project.get(path)).body.status === 'sent')
  return (await recipientsOf(app, project, post.id))[0] as TestRecipient
}
const countsNow = async (project: TestProject, postId: string) => {
  const { delivered, bounced, complained } = (await countsOf(app, project, postId)) ?? assert.fail('no broadcast')
  return { delivered, bounced, complained }
}

test('a hard bounce: the ledger, the counts, the subscriber and the address all know, and one event tells', async () => {
  const { project, list, post, first } = await newSentPost(app, { subscribers: 3 })
  assert.equal(await apply(project, first, bounceOf([first.email, 'hard'])), true)
  const row = await ledgerOf(app, project, first)
  assert.deepEqual([row?.status, row?.reason], ['bounced', 'There is no such mailbox'])
  assert.deepEqual(await countsNow(project, post.id), { delivered: 2, bounced: 1, complained: 0 })
  await assertCounts(app, project, list.id, { active: 2, bounced: 1 })
  assert.deepEqual(await suppressionsOf(project), [[first.email, 'hard_bounce']])
  const [told, ...more] = await project.eventsWithData()
  assert.deepEqual([told?.type, more], ['email.bounced', []])
  const { subscriber_id, contact_id, mailbox_id, ...data } = told?.data ?? {}
  assert.deepEqual(data, {
    email_id: formatId('eml', first.id as never),
    list_id: list.id,
    post_id: post.id,
    from: list.mailbox_address,
    to: first.email,
    subject: 'Hello',
    message_id: `${formatId('dlv', first.id)}@posthaste.test`,
    tag: null,
    metadata: {},
    email: null,
    bounce: { kind: 'hard', smtp_code: null, enhanced_code: '5.1.1', reason: 'There is no such mailbox' },
  })
  assert.match(`${subscriber_id} ${contact_id} ${mailbox_id}`, /^sub_\w+ con_\w+ mbx_\w+$/)
})

test('the same report again, ten at once, or another one after it, changes nothing', async () => {
  const { project, list, post, first } = await newSentPost(app)
  const answers = await Promise.all(Array.from({ length: 10 }, () => apply(project, first, bounceOf([first.email, 'hard']))))
  assert.equal(answers.filter(Boolean).length, 1)
  assert.deepEqual(await project.events(), ['email.bounced'])
  // Somebody lifts the suppression, and the person comes back: an old report must not undo that.
  await project.delete(`/suppressions/${encodeURIComponent(first.email)}`)
  const [{ id }] = (await project.get(`/lists/${list.id}/subscribers`)).body
  await project.patch(`/lists/${list.id}/subscribers/${id}`, { status: 'active' })
  await project.events()
  for (const report of [bounceOf([first.email, 'hard']), bounceOf([null, 'soft']), complaint])
    assert.equal(await apply(project, first, report), false)
  assert.deepEqual(await project.events(), [])
  assert.deepEqual(await suppressionsOf(project), [])
  await assertCounts(app, project, list.id, { active: 1 })
  assert.deepEqual(await countsNow(project, post.id), { delivered: 0, bounced: 1, complained: 0 })
})

test('a dead address is dead on every list of the project, and on no other project’s', async () => {
  const one = await newSentPost(app)
  const { project } = one
  const { body: second } = await project.post('/lists', { name: 'Second' })
  const { body: third } = await project.post('/lists', { name: 'Third' })
  await project.post(`/lists/${second.id}/subscribers`, { email: one.first.email, verified: true })
  const { body: left } = await project.post(`/lists/${third.id}/subscribers`, { email: one.first.email, verified: true })
  await project.patch(`/lists/${third.id}/subscribers/${left.id}`, { status: 'unsubscribed' })
  const other = await newSentPost(app)
  await project.events()
  await apply(project, one.first, bounceOf([one.first.email, 'hard']))
  await assertCounts(app, project, one.list.id, { bounced: 1 })
  await assertCounts(app, project, second.id, { bounced: 1 })
  await assertCounts(app, project, third.id, { unsubscribed: 1 })
  await assertCounts(app, other.project, other.list.id, { active: 1 })
  assert.deepEqual([await suppressionsOf(other.project), await other.project.events()], [[], []])
})

test('a complaint unsubscribes and suppresses', async () => {
  const { project, list, post, first } = await newSentPost(app, { subscribers: 2 })
  assert.equal(await apply(project, first, complaint), true)
  assert.equal(await apply(project, first, complaint), false)
  assert.equal((await ledgerOf(app, project, first))?.status, 'complained')
  assert.deepEqual(await countsNow(project, post.id), { delivered: 1, bounced: 0, complained: 1 })
  await assertCounts(app, project, list.id, { active: 1, unsubscribed: 1 })
  assert.deepEqual(await suppressionsOf(project), [[first.email, 'complaint']])
  assert.deepEqual(await project.events(), ['email.complained', 'subscriber.unsubscribed'])
})

test('a complaint about a post ends all subscriptions of the project, and none of another’s', async () => {
  const { project, list, first } = await newSentPost(app)
  const { body: second } = await project.post('/lists', { name: 'Second' })
  const { body: third } = await project.post('/lists', { name: 'Third' })
  await project.post(`/lists/${second.id}/subscribers`, { email: first.email, verified: true })
  await project.post(`/lists/${third.id}/subscribers`, { email: first.email })
  const other = await newSentPost(app)
  await project.events()
  await apply(project, first, complaint)
  for (const { id } of [list, second, third]) await assertCounts(app, project, id, { unsubscribed: 1 })
  assert.deepEqual(await project.events(), ['email.complained', ...Array(3).fill('subscriber.unsubscribed')])
  await assertCounts(app, other.project, other.list.id, { active: 1 })
})

test('what came late has the code of what was said then, or none: the yes of before is no answer any more', async () => {
  const { project, path, recipients } = await newSentPost(app, { subscribers: 3 })
  await services.database.run`update deliveries set smtp_code = 250 where project_id = ${project.id}`
  const [told, untold, annoyed] = recipients as [TestRecipient, TestRecipient, TestRecipient]
  const [hard] = bounceOf([told.email, 'hard']).recipients
  await apply(project, told, {
    kind: 'bounce',
    original,
    recipients: [{ ...(hard as BouncedRecipient), diagnostic: '550 5.1.1 no such user' }],
  })
  await apply(project, untold, bounceOf([untold.email, 'hard']))
  await apply(project, annoyed, complaint)
  const codes = async () =>
    (await project.get(`${path}/deliveries`)).body.map((one: { email: string; status: string; smtp_code: number | null }) => [
      one.email,
      one.status,
      one.smtp_code,
    ])
  assert.deepEqual((await codes()).sort(), [
    [told.email, 'bounced', 550],
    [untold.email, 'bounced', null],
    [annoyed.email, 'complained', 250],
  ])
})

test('a refusal of the sender or the message is a bounce of the message, never of the address', async () => {
  const { project, list, post, first } = await newSentPost(app)
  assert.equal(await apply(project, first, bounceOf([first.email, 'policy'])), true)
  assert.deepEqual(await countsNow(project, post.id), { delivered: 0, bounced: 1, complained: 0 })
  await assertCounts(app, project, list.id, { active: 1 })
  assert.deepEqual([await suppressionsOf(project), await project.events()], [[], ['email.bounced']])
})

test('what has not failed is no bounce', async () => {
  const { project, list, post, first } = await newSentPost(app)
  for (const action of ['delayed', 'delivered', 'relayed', 'expanded'] as const)
    assert.equal(await apply(project, first, bounceOf([first.email, 'none', action])), false)
  assert.equal(await apply(project, first, bounceOf()), false)
  assert.deepEqual(await countsNow(project, post.id), { delivered: 1, bounced: 0, complained: 0 })
  await assertCounts(app, project, list.id, { active: 1 })
  assert.deepEqual(await project.events(), [])
})

test('three soft bounces on three different days end it; three on one day do not', async () => {
  const { project, list, first } = await newSentPost(app)
  const again = () => sendAgain(project, list.id)
  // Noon: three within a second must not be two days.
  app.clock.advance(1.5 * day - (app.clock.now().getTime() % day))
  const soft = bounceOf([first.email, 'soft'])
  await apply(project, first, soft)
  await apply(project, await again(), soft)
  await apply(project, await again(), soft)
  assert.deepEqual(await suppressionsOf(project), [], 'all on one day')
  app.clock.advance(day)
  await apply(project, await again(), soft)
  await assertCounts(app, project, list.id, { active: 1 })
  app.clock.advance(day)
  await project.events()
  await apply(project, await again(), soft)
  assert.deepEqual(await suppressionsOf(project), [[first.email, 'soft_bounces']])
  await assertCounts(app, project, list.id, { bounced: 1 })
  assert.equal((await project.events()).at(-1), 'email.bounced')
})

test('soft bounces that lie far apart are forgotten', async () => {
  const { project, list, first } = await newSentPost(app)
  const soft = bounceOf([first.email, 'soft'])
  await apply(project, first, soft)
  for (let month = 0; month < 3; month++) {
    app.clock.advance(60 * day)
    await apply(project, await sendAgain(project, list.id), soft)
  }
  await assertCounts(app, project, list.id, { active: 1 })
  assert.deepEqual(await suppressionsOf(project), [])
})

test('a report that names others is about the one whose return path it came to; of several the mildest counts', async () => {
  const forwarded = await newSentPost(app)
  await apply(forwarded.project, forwarded.first, bounceOf(['elsewhere@example.net', 'hard']))
  assert.deepEqual(await suppressionsOf(forwarded.project), [[forwarded.first.email, 'hard_bounce']])

  const group = await newSentPost(app)
  await apply(group.project, group.first, bounceOf(['a@example.net', 'hard'], ['b@example.net', 'soft']))
  assert.deepEqual(await suppressionsOf(group.project), [])

  const named = await newSentPost(app)
  const upper = named.first.email.replace('reader', 'Reader')
  await apply(named.project, named.first, bounceOf(['a@example.net', 'policy'], [upper, 'hard']))
  assert.deepEqual(await suppressionsOf(named.project), [[named.first.email, 'hard_bounce']])
})

test('a bounce that comes before the engine has settled is the last word', async () => {
  const { project, post, first } = await newSentPost(app)
  await services.database.run`
    update deliveries set status = 'sending', lease_owner = ${newId()}, next_attempt_at = now() + interval '400 days', settled_at = null where project_id = ${project.id}`
  await services.database.run`update broadcasts set delivered = 0 where project_id = ${project.id}`
  assert.equal(await apply(project, first, bounceOf([first.email, 'hard'])), true)
  assert.deepEqual(await countsNow(project, post.id), { delivered: 0, bounced: 1, complained: 0 })
  const row = await services.database.first<{ lease_owner: string | null; settled_at: Date | null }>`
    select lease_owner, settled_at from deliveries where project_id = ${project.id}`
  assert.equal(row?.lease_owner, null)
  assert.ok(row?.settled_at)
})

test('another project’s delivery, and one that never was, are not found', async () => {
  const { first, project } = await newSentPost(app)
  const other = await app.newProject()
  assert.equal(await apply(other, first, complaint), false)
  assert.equal(await apply(project, { ...first, id: newId() }, complaint), false)
  assert.deepEqual([await project.events(), await other.events()], [[], []])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { credentialFor, useUp } from '../../../tests/support/payable.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { addPostInFlight, importReaders, newList, newPost, newSentPost, postData } from '../../../tests/support/posts.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { parseId } from '../../base/ids.ts'
import { expandOne } from '../../delivery/broadcast/expand.ts'
import { pageUnreleased, releaseUnused } from '../usage/index.ts'
import { lookAfterBroadcasts } from './index.ts'

/** Without a sender: the tests queue again what is to be, and it stays there. */
const app = await startApp({ ROLES: 'http,consumers' })
const { database } = app.services

const retry = (project: TestProject, path: string, headers: Record<string, string> = {}) =>
  project.request('POST', `${path}/deliveries/retry`, { headers })
const queueAll = async () => {
  while (await expandOne(database));
}
const statuses = async (project: TestProject, path: string): Promise<string[]> =>
  (await project.get(`${path}/deliveries`)).body.map(({ status }: { status: string }) => status)
const sentBy = async (project: TestProject): Promise<number> => (await project.get('/usage')).body.emails_sent

test('what failed is queued again and booked again; the rest stays as it is', async () => {
  const { project, list, post, path } = await newSentPost(app, ['delivered', 'failed', 'bounced', 'failed', 'complained'])
  const { body: before } = await project.get(path)
  // All five were booked, and the two that failed are given back on the way.
  assert.equal(await sentBy(project), 5)
  const { status, body } = await retry(project, path)
  assert.deepEqual([status, body], [202, { retried: 2 }])
  await queueAll()
  assert.deepEqual(await statuses(project, path), ['delivered', 'queued', 'bounced', 'queued', 'complained'])
  assert.equal(await sentBy(project), 5)
  const data = await postData(project, list, post)
  assert.deepEqual(await project.eventsWithData(), [{ type: 'post.resumed', data }])
  const { body: now } = await project.get(path)
  assert.deepEqual([now.status, now.sending, now.broadcast.status, now.sent_at], ['sent', true, 'sending', before.sent_at])
  const due = await database.many`
    select attempts from deliveries where project_id = ${project.id} and status = 'queued' and settled_at is null and next_attempt_at <= ${app.clock.now()}`
  assert.deepEqual(due, [{ attempts: 0 }, { attempts: 0 }])

  const again = await retry(project, path)
  assert.deepEqual([again.status, again.body.error.code], [422, 'validation_error'])
  assert.match(again.body.error.message, /^status: is sending; only what failed/)
  assert.deepEqual(await project.events(), [])
})

test('who has left since is not written to', async () => {
  const { project, list, path } = await newSentPost(app, ['failed', 'failed'])
  const { body: subscribers } = await project.get(`/lists/${list.id}/subscribers`)
  await project.patch(`/lists/${list.id}/subscribers/${subscribers[0].id}`, { status: 'unsubscribed' })
  await project.events()
  assert.deepEqual((await retry(project, path)).body, { retried: 1 })
  await queueAll()
  assert.deepEqual((await statuses(project, path)).sort(), ['failed', 'queued'])
  assert.deepEqual(await project.events(), ['post.resumed'])
})

test('who pauses is not written to, and not counted, until the pause is over', async () => {
  const { project, list, path } = await newSentPost(app, ['failed', 'failed', 'failed'])
  const { body: people } = await project.get(`/lists/${list.id}/subscribers`)
  const pause = (id: string, days: number) => database.run`
    update subscribers set paused_until = ${new Date(app.clock.now().getTime() + days * 86_400_000)}
    where project_id = ${project.id} and id = ${parseId('sub', id)}`
  for (const { id } of people) await pause(id, 30)
  const refused = await retry(project, path)
  assert.deepEqual([refused.status, refused.body.error.code], [422, 'validation_error'])
  assert.match(refused.body.error.message, /^deliveries: has none that failed and whose subscriber is still there and does not pause/)
  assert.deepEqual(await project.events(), [])

  await pause(people[0].id, -1)
  await pause(people[1].id, -1)
  assert.deepEqual((await retry(project, path)).body, { retried: 2 })
  // Before it is queued again, the second changes their mind.
  await pause(people[1].id, 30)
  await queueAll()
  assert.deepEqual((await statuses(project, path)).sort(), ['failed', 'failed', 'queued'])
  assert.deepEqual(await project.events(), ['post.resumed'])
})

test('with nothing to try again, and in any other state, nothing happens', async () => {
  const { project, list } = await newList(app)
  const inFlight = await addPostInFlight(database, { project_id: project.id, listId: list.id, status: 'sending' })
  const draft = await newPost(app, { project })
  const done = await newSentPost(app, ['delivered', 'bounced'], { project })
  const aborted = await newSentPost(app, ['failed'], { project })
  await database.run`update broadcasts set status = 'aborted' where project_id = ${project.id} and failed = 1`
  await project.events()
  const used = await sentBy(project)
  for (const [path, message] of [
    [`/lists/${list.id}/posts/${inFlight}`, /^status: is sending; only what failed/],
    [draft.path, /^status: is draft; only what failed/],
    [done.path, /^deliveries: has none that failed/],
    [aborted.path, /^status: is sent and was aborted; only what failed/],
  ] as const) {
    const { status, body } = await retry(project, path)
    assert.deepEqual([status, body.error.code], [422, 'validation_error'], path)
    assert.match(body.error.message, message)
  }
  assert.equal(await sentBy(project), used)
  assert.deepEqual(await project.events(), [])
})

test('over the plan it is refused with a price, and goes through when that is paid', async () => {
  const { project, path } = await newSentPost(app, ['failed', 'failed', 'delivered'])
  await lookAfterBroadcasts(app.services)
  assert.equal(await sentBy(project), 1)
  await useUp(app, project, 99)
  const refused = await retry(project, path)
  assert.deepEqual([refused.status, refused.body.error.code], [402, 'limit_exceeded'])
  assert.deepEqual(await statuses(project, path), ['failed', 'failed', 'delivered'])
  assert.deepEqual(await project.events(), [])
  const paid = await retry(project, path, { 'payment-authorization': credentialFor(refused, 'spt_good') })
  assert.deepEqual([paid.status, paid.body], [202, { retried: 2 }])
  assert.ok(paid.headers.get('payment-receipt'))
  assert.deepEqual(await project.events(), ['post.resumed'])
})

test('a repeat with the same Idempotency-Key tries nothing again', async () => {
  const { project, path } = await newSentPost(app, ['failed', 'failed'])
  const headers = { 'idempotency-key': 'retry-once' }
  const answers = await Promise.all(Array.from({ length: 5 }, () => retry(project, path, headers)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 200, 200, 202])
  for (const { body } of answers) assert.deepEqual(body, { retried: 2 })
  assert.deepEqual(await project.events(), ['post.resumed'])
  assert.equal(await sentBy(project), 2)
})

test('of ten who try at once, one does', async () => {
  const { project, path } = await newSentPost(app, ['failed', 'failed', 'failed'])
  const answers = await Promise.all(Array.from({ length: 10 }, () => retry(project, path)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, ...Array.from({ length: 9 }, () => 422)])
  assert.equal(await sentBy(project), 3)
  assert.deepEqual(await project.events(), ['post.resumed'])
})

test('whoever saw the last round end, and comes late to give back what it left, does not give back what the next has booked', async () => {
  const { project, path } = await newSentPost(app, ['failed', 'failed'])
  const over = (await pageUnreleased(database, 50)).find(({ project_id }) => project_id === project.id)
  assert.ok(over)
  assert.equal((await retry(project, path)).status, 202)
  await database.transaction((tx) => releaseUnused(tx, over))
  assert.equal(await sentBy(project), 2)
})

test('thousands are queued again in pieces, each once; who left meanwhile is not, and the end gives back what is over', async () => {
  const { project, list, path } = await newPost(app)
  await importReaders(project, list.id, 12_000)
  assert.equal((await project.post(`${path}/send`)).status, 202)
  await queueAll()
  await database.run`update deliveries set status = 'failed', attempts = 9, settled_at = now() where project_id = ${project.id}`
  await database.run`
    update broadcasts set status = 'done', finished_at = now(), failed = recipients where project_id = ${project.id}`
  await database.run`update posts set status = 'sent', sent_at = now() where project_id = ${project.id}`
  await lookAfterBroadcasts(app.services)
  assert.equal(await sentBy(project), 0)
  await project.events()

  assert.deepEqual((await retry(project, path)).body, { retried: 12_000 })
  assert.equal(await sentBy(project), 12_000)
  const queued = async () =>
    (await database.first<{ count: number }>`
      select count(*) from deliveries where project_id = ${project.id} and status = 'queued'`)!.count // always a row
  assert.notEqual(await expandOne(database), null)
  assert.equal(await queued(), 5_000)
  // Of those, one fails once more; of those that wait, two leave.
  await database.run`
    update deliveries set status = 'failed' where project_id = ${project.id} and id = (
      select id from deliveries where project_id = ${project.id} and status = 'queued' limit 1)`
  await database.run`update broadcasts set failed = failed + 1 where project_id = ${project.id}`
  await database.run`
    update subscribers set status = 'unsubscribed' where project_id = ${project.id} and email in ('reader-11000@example.org', 'reader-11001@example.org')`
  const open = () => database.first<Record<string, unknown>>`
    select is_expanded, retry_left, failed, forgiven_settled from broadcasts where project_id = ${project.id}`
  assert.deepEqual(await open(), { is_expanded: false, retry_left: 7_000, failed: 7_001, forgiven_settled: 7_000 })
  assert.equal((await project.post(`${path}/pause`)).status, 200)
  assert.equal(await expandOne(database), null)
  assert.equal((await project.post(`${path}/resume`)).status, 200)
  await queueAll()
  assert.equal(await queued(), 11_997)
  assert.deepEqual(await open(), { is_expanded: true, retry_left: 0, failed: 3, forgiven_settled: 3 })
})

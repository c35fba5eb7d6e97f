import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { assertCounts, queuedMail } from '../../../tests/support/subscribers.ts'
import { parseId } from '../../base/ids.ts'

const app = await startApp()

async function newSubscriber(body: object = { verified: true }) {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'News' })
  const { body: subscriber } = await project.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.org', ...body })
  await project.events()
  return { project, list, subscriber, path: `/lists/${list.id}/subscribers/${subscriber.id}` }
}

const rowOf = (subscriber: { id: string }) =>
  app.services.database.first<{ unsubscribed_at: Date | null }>`select * from subscribers where id = ${parseId('sub', subscriber.id)}`

test('unsubscribing and coming back each tell once, and the numbers follow', async () => {
  const { project, list, subscriber, path } = await newSubscriber()
  const gone = await project.patch(path, { status: 'unsubscribed' })
  assert.equal(gone.status, 200)
  assert.deepEqual(gone.body, { ...subscriber, status: 'unsubscribed' })
  const [told, ...more] = await project.eventsWithData()
  assert.deepEqual([told?.type, told?.data.subscriber, more], ['subscriber.unsubscribed', gone.body, []])
  await assertCounts(app, project, list.id, { unsubscribed: 1 })

  assert.deepEqual((await project.patch(path, { status: 'unsubscribed' })).body, gone.body)
  assert.deepEqual(await project.events(), [])

  const back = await project.patch(path, { status: 'active' })
  assert.deepEqual(back.body, subscriber)
  assert.deepEqual(await project.events(), ['subscriber.confirmed'])
  await assertCounts(app, project, list.id, { active: 1 })
  assert.deepEqual(await queuedMail(app, project), [], 'no mail is asked for')
})

test('a pending subscriber can be set active, which dates the subscription, or unsubscribed', async () => {
  const first = await newSubscriber({})
  const before = app.clock.now()
  const { body } = await first.project.patch(first.path, { status: 'active' })
  assert.equal(body.status, 'active')
  assert.ok(new Date(body.subscribed_at) >= before)
  assert.deepEqual(await first.project.events(), ['subscriber.confirmed'])
  await assertCounts(app, first.project, first.list.id, { active: 1 })

  const second = await newSubscriber({})
  assert.equal((await second.project.patch(second.path, { status: 'unsubscribed' })).body.subscribed_at, null)
  assert.deepEqual(await second.project.events(), ['subscriber.unsubscribed'])
  await assertCounts(app, second.project, second.list.id, { unsubscribed: 1 })
})

test('a bounced subscriber can be set active again', async () => {
  const { project, list, subscriber, path } = await newSubscriber()
  const { database } = app.services
  await database.run`update subscribers set status = 'bounced' where id = ${parseId('sub', subscriber.id)}`
  await database.run`update list_counters set active = active - 1, bounced = bounced + 1 where list_id = ${parseId('lst', list.id)} and active > 0`
  await assertCounts(app, project, list.id, { bounced: 1 })
  assert.equal((await project.patch(path, { status: 'active' })).body.status, 'active')
  assert.deepEqual(await project.events(), ['subscriber.confirmed'])
  await assertCounts(app, project, list.id, { active: 1 })
})

test('a new name is the contact’s too, and tells of the contact alone', async () => {
  const { project, subscriber, path } = await newSubscriber({ verified: true, name: 'Ann' })
  const { status, body } = await project.patch(path, { name: 'Ann Lee' })
  assert.equal(status, 200)
  assert.deepEqual(body, { ...subscriber, name: 'Ann Lee' })
  const [told, ...more] = await project.eventsWithData()
  assert.deepEqual([told?.type, more], ['contact.updated', []])
  assert.equal((told?.data.contact as Record<string, unknown> | undefined)?.name, 'Ann Lee')
  assert.deepEqual((await project.patch(path, { name: 'Ann Lee' })).body, body)
  assert.deepEqual(await project.events(), [])
})

test('a name and a status at once are one change with both events', async () => {
  const { project, list, path } = await newSubscriber()
  const { body } = await project.patch(path, { name: 'Ann', status: 'unsubscribed' })
  assert.deepEqual([body.name, body.status], ['Ann', 'unsubscribed'])
  assert.deepEqual(await project.events(), ['contact.updated', 'subscriber.unsubscribed'])
  await assertCounts(app, project, list.id, { unsubscribed: 1 })
})

test('a new name does not move the time at which somebody unsubscribed', async () => {
  const { project, subscriber, path } = await newSubscriber()
  await project.patch(path, { status: 'unsubscribed' })
  const { unsubscribed_at } = (await rowOf(subscriber)) ?? assert.fail()
  assert.ok(unsubscribed_at)
  app.clock.advance(3_600_000)
  await project.patch(path, { name: 'Still gone' })
  assert.deepEqual((await rowOf(subscriber))?.unsubscribed_at, unsubscribed_at)
})

test('an empty change changes nothing and tells nothing', async () => {
  const { project, subscriber, path } = await newSubscriber()
  for (const body of [{}, undefined, { email: 'other@example.org', id: 'x' }]) {
    const answer = await project.patch(path, body)
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.body, subscriber)
  }
  assert.deepEqual(await project.events(), [])
})

test('what is wrong is named, and nothing is changed', async () => {
  const { project, list, subscriber, path } = await newSubscriber()
  const cases: [unknown, RegExp][] = [
    [{ status: 'pending' }, /^status: must be one of active, unsubscribed/],
    [{ status: 'bounced' }, /^status: must be one of active, unsubscribed/],
    [{ status: null }, /^status: /],
    [{ name: 5 }, /^name: must be a string/],
    [{ name: 'x'.repeat(201) }, /^name: must have at most 200/],
    [{ name: 'Fine', status: 'gone' }, /^status: /],
    [[], /^body: must be an object/],
  ]
  for (const [body, message] of cases) {
    const answer = await project.patch(path, body)
    assert.equal(answer.status, 422, JSON.stringify(body))
    assert.equal(answer.body.error.code, 'validation_error')
    assert.match(answer.body.error.message, message)
  }
  const { last_open_at: _open, last_click_at: _click, country: _country, city: _city, ...now } = (await project.get(path)).body
  assert.deepEqual(now, subscriber)
  assert.deepEqual(await project.events(), [])
  await assertCounts(app, project, list.id, { active: 1 })
})

test('forty changes back and forth at once leave numbers that add up', async () => {
  const { project, list, path } = await newSubscriber()
  const statuses = Array.from({ length: 40 }, (_, index) => (index % 2 ? 'active' : 'unsubscribed'))
  const answers = await Promise.all(statuses.map((status) => project.patch(path, { status })))
  assert.ok(answers.every((answer) => answer.status === 200))
  const { status } = (await project.get(path)).body
  await assertCounts(app, project, list.id, { [status]: 1 })
  const told = await project.events()
  // Each event is a real change, so they alternate, beginning with the way out.
  assert.deepEqual(
    told,
    told.map((_, index) => (index % 2 ? 'subscriber.confirmed' : 'subscriber.unsubscribed')),
  )
})

test('another project’s subscriber is not found, and stays', async () => {
  const { project, list, path } = await newSubscriber()
  const other = await app.newProject()
  const { status, body } = await other.patch(path, { status: 'unsubscribed' })
  assert.equal(status, 404)
  assert.equal(body.error.code, 'not_found')
  await assertCounts(app, project, list.id, { active: 1 })
  assert.deepEqual([...(await project.events()), ...(await other.events())], [])
})

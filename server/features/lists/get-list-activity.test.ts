import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { formatId, newId, type ProjectId, parseId } from '../../base/ids.ts'
import type { EventType } from '../../events/catalogue.ts'
import { publish, publishBulk } from '../../events/publish.ts'
import { trimActivity } from '../../events/retention.ts'

const app = await startApp()
const hour = 3_600_000

async function newList() {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Lively' })
  return { project, list, path: `/lists/${list.id}/activity` }
}

/** The feed once it has so many items: it is filled in the background, and a look may find the filling under way. */
const feed = (project: TestProject, path: string, items: number) =>
  until(`${items} items`, async () => {
    const { body } = await project.get(path)
    return body.items.length >= items && body
  })

/** What an import writes: many subscribers in one row of the event log. */
const publishMany = (
  project: { id: ProjectId },
  list: { id: string },
  count: number,
  status: string,
  type: EventType = 'subscriber.created',
) =>
  app.services.database.transaction((tx) =>
    publishBulk(tx, project.id, type, {
      template: {
        subscriber_id: '$0',
        list_id: list.id,
        contact_id: '$1',
        subscriber: { id: '$0', email: '$2', name: null, status, source: 'import', subscribed_at: null, created_at: tx.now },
      },
      rows: Array.from({ length: count }, (_, index) => [formatId('sub', newId()), formatId('con', newId()), `bulk-${index}@example.org`]),
    }),
  )

test('a new list has none', async () => {
  const { project, path } = await newList()
  await project.events()
  const { status, body } = await project.get(path)
  assert.equal(status, 200)
  assert.deepEqual(body, { week: { subscribed: 0, unsubscribed: 0, replies: 0 }, items: [] })
  assert.deepEqual(await project.events(), [])
})

test('what was done is there, newest first, with every field', async () => {
  const { project, list, path } = await newList()
  const add = async (body: object) => (await project.post(`/lists/${list.id}/subscribers`, body)).body
  const ann = await add({ email: 'Ann@example.org', verified: true })
  const bob = await add({ email: 'bob@example.org' })
  await project.patch(`/lists/${list.id}/subscribers/${ann.id}`, { status: 'unsubscribed' })
  await project.patch(`/lists/${list.id}/subscribers/${bob.id}`, { status: 'active' })
  await project.delete(`/lists/${list.id}/subscribers/${ann.id}`)

  const body = await feed(project, path, 5)
  assert.deepEqual(
    body.items.map(({ type, email, subscriber_id }: Record<string, unknown>) => [type, email, subscriber_id]),
    [
      ['subscriber.deleted', 'Ann@example.org', ann.id],
      ['subscriber.confirmed', 'bob@example.org', bob.id],
      ['subscriber.unsubscribed', 'Ann@example.org', ann.id],
      ['subscriber.created', 'bob@example.org', bob.id],
      ['subscriber.created', 'Ann@example.org', ann.id],
    ],
  )
  for (const item of body.items) {
    assert.match(item.id, /^evt_[0-9a-z]{26}$/)
    assert.match(item.at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    const { subject, post_id, email_id, message_id } = item
    assert.deepEqual({ subject, post_id, email_id, message_id }, { subject: null, post_id: null, email_id: null, message_id: null })
  }
  assert.deepEqual(body.week, { subscribed: 2, unsubscribed: 1, replies: 0 })
})

test('a reply counts, and names its mail', async () => {
  const { project, list, path } = await newList()
  const [email_id, post_id] = [newId<'eml'>(), newId<'post'>()]
  const rest = { mailbox_id: null, subscriber_id: null, contact_id: null, to: 'lively@posthaste.test', tag: null, metadata: {} }
  const mail = { from: 'ann@example.org', subject: 'Re: hello', message_id: 'm1@example.org' }
  const inbox = { direction: 'inbound', from_address: mail.from, from_name: null, to_address: rest.to, subject: mail.subject } as const
  const told = {
    ...inbox,
    id: email_id,
    status: 'received',
    tags: null,
    thread_id: null,
    attachment_count: 0,
    created_at: new Date(),
  } as const
  await app.services.database.transaction((tx) =>
    publish(tx, project.id, 'email.replied', { ...rest, ...mail, email_id, post_id, list_id: parseId('lst', list.id), email: told }),
  )
  const body = await feed(project, path, 1)
  assert.deepEqual(body.week, { subscribed: 0, unsubscribed: 0, replies: 1 })
  const { type, email, subject, message_id } = body.items[0]
  assert.deepEqual([type, email, subject, message_id], ['email.replied', 'ann@example.org', 'Re: hello', 'm1@example.org'])
  assert.equal(body.items[0].email_id, formatId('eml', email_id))
  assert.equal(body.items[0].post_id, formatId('post', post_id))
})

test('a bulk change gives the right numbers, and 200 items at most', async () => {
  const { project, list, path } = await newList()
  await publishMany(project, list, 6_000, 'active')
  await publishMany(project, list, 50, 'pending')
  await publishMany(project, list, 300, 'unsubscribed', 'subscriber.unsubscribed')
  const body = await until('all are counted', async () => {
    const { body } = await project.get(`${path}?limit=200`)
    return body.week.unsubscribed === 300 && body
  })
  assert.deepEqual(body.week, { subscribed: 6_000, unsubscribed: 300, replies: 0 })
  assert.equal(body.items.length, 200)
  assert.equal(new Set(body.items.map((item: { id: string }) => item.id)).size, 200)
  assert.ok(body.items.every((item: { type: string }) => item.type === 'subscriber.unsubscribed'))
  // The last of the bulk is the newest.
  assert.equal(body.items[0].email, 'bulk-299@example.org')
  assert.equal(body.items[199].email, 'bulk-100@example.org')
})

test('the limit is 60 unless said, from 1 to 200', async () => {
  const { project, list, path } = await newList()
  await publishMany(project, list, 201, 'active')
  await feed(project, path, 60)
  const lengthOf = async (query: string) => (await project.get(path + query)).body.items.length
  assert.equal(await lengthOf(''), 60)
  assert.equal(await lengthOf('?limit=1'), 1)
  assert.equal(await lengthOf('?limit=200'), 200)
  for (const limit of ['0', '201', '-1', '1.5', 'x', '']) {
    const { status, body } = await project.get(`${path}?limit=${limit}`)
    assert.equal(status, 422, limit)
    assert.match(body.error.message, /^limit: /)
  }
})

test('another project’s list, and one that never existed, are not found', async () => {
  const [{ path }, other] = [await newList(), await app.newProject()]
  const answers = [await other.get(path), await other.get(`/lists/${formatId('lst', newId())}/activity`)]
  for (const { status, body } of answers) {
    assert.equal(status, 404)
    assert.deepEqual(body, answers[1]?.body)
  }
  assert.deepEqual(await other.events(), [])
})

test('many who write at once, imports among them: nothing is lost, nothing is twice, and the newest are on top', async () => {
  const { project, list, path } = await newList()
  const other = (await project.post('/lists', { name: 'Other' })).body
  const add = (listId: string, name: string) =>
    project.post(`/lists/${listId}/subscribers`, { email: `${name}@example.org`, verified: true })
  await Promise.all([
    ...Array.from({ length: 40 }, (_, index) => add(index % 2 === 0 ? list.id : other.id, `one-${index}`)),
    ...Array.from({ length: 4 }, () => publishMany(project, list, 700, 'active')),
  ])
  const body = await until('all are counted', async () => {
    const { body } = await project.get(`${path}?limit=200`)
    return body.week.subscribed >= 2_820 && body
  })
  assert.equal(body.week.subscribed, 2_820)
  const places: [string, string][] = body.items.map(({ at, id }: { at: string; id: string }) => [at, id])
  assert.deepEqual([places.length, new Set(places.map(([, id]) => id)).size], [200, 200])
  assert.deepEqual(
    places,
    places.toSorted(([atA, idA], [atB, idB]) => (atA === atB ? (idA < idB ? 1 : -1) : atA < atB ? 1 : -1)),
  )
  assert.equal((await feed(project, `/lists/${other.id}/activity`, 20)).week.subscribed, 20)
})

test('what began before and was committed after does not push newer things out of the feed', async () => {
  const { project, list, path } = await newList()
  const { database } = app.services
  let begun = () => {}
  const others = new Promise<void>((resolve) => {
    begun = resolve
  })
  let goOn = () => {}
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const long = database.transaction(async (tx) => {
    await tx.run`select 1`
    begun()
    await held
    await publishBulk(tx, project.id, 'subscriber.created', {
      template: { list_id: list.id, subscriber: { status: 'active', email: '$0' } },
      rows: Array.from({ length: 300 }, (_, index) => [`import-${index}@example.org`]),
    })
  })
  await others
  // At least a millisecond later, as the feed has it.
  app.clock.advance(1_000)
  await project.post(`/lists/${list.id}/subscribers`, { email: 'newest@example.org', verified: true })
  goOn()
  await long
  const body = await until('all are counted', async () => {
    const { body } = await project.get(`${path}?limit=200`)
    return body.week.subscribed === 301 && body
  })
  assert.deepEqual([body.items.length, body.items[0].email, body.items[1].email], [200, 'newest@example.org', 'import-299@example.org'])
})

test('what is told of a list that is deleted meanwhile leaves nothing behind, and holds up no other', async () => {
  const [gone, kept] = [await newList(), await newList()]
  await gone.project.delete(`/lists/${gone.list.id}`)
  await publishMany(gone.project, gone.list, 10, 'active')
  await publishMany(kept.project, kept.list, 10, 'active')
  assert.equal((await feed(kept.project, kept.path, 10)).week.subscribed, 10)
  for (const table of ['list_activity', 'list_activity_hours'])
    assert.deepEqual(
      (await app.services.database.execute(`select 1 from ${table} where project_id = $1`, [gone.project.id])).rows,
      [],
      table,
    )
})

test('the night keeps the newest thousand of each list', async () => {
  const [much, little] = [await newList(), await newList()]
  const kept = async ({ project }: { project: TestProject }) =>
    (await app.services.database.many`select 1 from list_activity where project_id = ${project.id}`).length
  // Each by itself: of what is filed together only the newest 200 are.
  for (let time = 1; time <= 7; time++) {
    await publishMany(much.project, much.list, 200, 'active')
    await until('they are filed', async () => (await kept(much)) === time * 200)
  }
  await publishMany(little.project, little.list, 3, 'active')
  await feed(little.project, little.path, 3)
  const newest = (await much.project.get(`${much.path}?limit=200`)).body.items
  await trimActivity(app.services.database)
  assert.deepEqual([await kept(much), await kept(little)], [1_000, 3])
  assert.deepEqual((await much.project.get(`${much.path}?limit=200`)).body.items, newest)
})

// Last: the clock does not go back.
test('after a week the numbers are empty, and the items stay', async () => {
  const { project, list, path } = await newList()
  await project.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.org', verified: true })
  assert.equal((await feed(project, path, 1)).week.subscribed, 1)
  app.clock.advance(6 * 24 * hour)
  assert.equal((await project.get(path)).body.week.subscribed, 1)
  app.clock.advance(2 * 24 * hour)
  const { body } = await project.get(path)
  assert.deepEqual(body.week, { subscribed: 0, unsubscribed: 0, replies: 0 })
  assert.equal(body.items.length, 1)
})

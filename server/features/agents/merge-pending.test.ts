import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asProject, asUser, claimAs, registerAnonymous } from '../../../tests/support/agents.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { newWaitlist } from '../../../tests/support/waitlists.ts'
import { startWebhookPeer } from '../../../tests/support/webhook-peer.ts'
import { parseId } from '../../base/ids.ts'
import { activityConsumer } from '../../events/activity.ts'
import { consumeBatch } from '../../events/consume.ts'
import { publishBulk } from '../../events/publish.ts'
import { eraseTraces } from '../personal-data/erase-traces.ts'
import { insertToken, makeKey } from '../tokens/index.ts'
import { createDeliveryFiler } from '../webhooks/deliver/file-deliveries.ts'
import { MassFiler } from '../webhooks/deliver/file-masses.ts'

/** Nobody reads the outbox or sends webhooks here but the test itself: what a merge overtakes stays overtaken. */
const app = await startApp({ ROLES: 'http,sender', ALLOW_PRIVATE_WEBHOOKS: 'true' })
const peer = await startWebhookPeer()
const { database } = app.services
const filer = createDeliveryFiler()
for (const { name } of [filer, activityConsumer])
  await database.run`
    insert into event_consumers (name, transaction_id) values (${name}, pg_snapshot_xmin(pg_current_snapshot())) on conflict do nothing`
/** Open transactions of other databases on the server hold the log up, too: a test file beside us. */
const consume = (consumer: typeof filer) =>
  until('the outbox is read', async () => {
    while ((await consumeBatch(database, consumer, { waits: true })).rows > 0);
    const behind = await database.first`
      select 1 from events e, event_consumers c where c.name = ${consumer.name} and (e.transaction_id, e.position) > (c.transaction_id, c.position)`
    return behind === null
  })

async function newWriter() {
  const agent = await registerAnonymous(app)
  const [project_id, user_id] = [asProject(agent.project_id), asUser(agent.user_id)]
  const key = makeKey(false)
  await database.transaction((tx) =>
    insertToken(tx, { project_id, user_id, name: 'more', key, scopes: ['read', 'write'], mailbox_id: null, expires_at: null }),
  )
  return { ...speaking(app.url, key), claim_token: agent.claim_token as string, project_id }
}

test('an agent that joined lists of both is one contact after the claim', async () => {
  const owner = await newWriter()
  const list = await newWaitlist(app)
  const { body: theirs } = await owner.post('/lists', { name: 'Theirs', type: 'waitlist' })
  const guest = speaking(app.url, (await registerAnonymous(app)).credential)
  const joined = [(await guest.post(`${list.path}/join`, {})).body, (await guest.post(`/lists/${theirs.id}/join`, {})).body]
  const { body: group } = await owner.post('/contact-groups', { name: 'Agents' })
  const [contact] = (await owner.get('/contacts')).body
  assert.equal((await owner.post(`/contact-groups/${group.id}/contacts`, { contact_ids: [contact.id] })).status, 200)

  await claimAs(app, owner.claim_token, list.project.email)
  const { body: contacts } = await list.project.get('/contacts')
  assert.equal(contacts.length, 1)
  const { body: members } = await list.project.get(`/contacts?group_id=${group.id}`)
  assert.deepEqual(
    members.map(({ id }: { id: string }) => id),
    [contacts[0].id],
  )
  for (const [index, path] of [list.path, `/lists/${theirs.id}`].entries()) {
    const { body } = await list.project.get(`${path}/subscribers`)
    assert.deepEqual(
      body.map((row: Record<string, unknown>) => [row.id, row.waitlist_status, row.position]),
      [[joined[index].subscriber_id, 'waiting', 1]],
    )
  }
  const subscriptions = await database.many`
    select list_id from subscribers where project_id = ${list.project.id} and contact_id = ${parseId('con', contacts[0].id)}`
  assert.equal(subscriptions.length, 2)
})

test('what happened just before a merge is told to the webhooks that came along, and is in the feed of its list', async () => {
  const project = await app.newProject()
  const writer = await newWriter()
  const { body: webhook } = await writer.post('/webhooks', { url: `${peer.url}/late`, events: ['subscriber.created'] })
  const { body: list } = await writer.post('/lists', { name: 'Readers' })
  await consume(filer)
  const { body: ann } = await writer.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.org', verified: true })
  await claimAs(app, writer.claim_token, project.email)
  await consume(filer)
  await consume(activityConsumer)
  const { body: waiting } = await project.get(`/webhooks/${webhook.id}/deliveries?event_type=subscriber.created`)
  assert.equal(waiting.length, 1)
  const { body: delivery } = await project.get(`/webhooks/${webhook.id}/deliveries/${waiting[0].id}`)
  assert.equal(JSON.parse(delivery.request.body).data.subscriber_id, ann.id)
  const { body: feed } = await project.get(`/lists/${list.id}/activity`)
  assert.deepEqual(
    feed.items.map(({ type, subscriber_id }: Record<string, unknown>) => [type, subscriber_id]),
    [['subscriber.created', ann.id]],
  )
  assert.equal(feed.week.subscribed, 1)
})

test('what was put aside for the webhooks of a project is told after a merge, too', async () => {
  const project = await app.newProject()
  const writer = await newWriter()
  const { body: webhook } = await writer.post('/webhooks', { url: `${peer.url}/aside`, events: ['subscriber.deleted'] })
  const names = Array.from({ length: 10_001 }, (_, index) => [String(index)])
  await database.transaction((tx) =>
    publishBulk(tx, writer.project_id, 'subscriber.deleted', { template: { subscriber_id: '$0' }, rows: names }),
  )
  const asideOf = async (project_id: string) => (await database.many`select 1 from webhook_masses where project_id = ${project_id}`).length
  await consume(filer)
  assert.equal(await asideOf(writer.project_id), 1)
  const masses = new MassFiler(database)
  await masses.step()
  await claimAs(app, writer.claim_token, project.email)
  assert.deepEqual([await asideOf(writer.project_id), await asideOf(project.id)], [0, 1])
  while (await masses.step());
  const told = await database.many<{ item: number }>`
    select item from webhook_deliveries where project_id = ${project.id} and webhook_id = ${parseId('whk', webhook.id)} and event_type = 'subscriber.deleted'
    order by id`
  assert.deepEqual(
    told.map(({ item }) => item),
    names.map((_, index) => index),
  )
})

test('who is erased after a merge is gone from what still waits to be told, though they were another contact there', async () => {
  const project = await app.newProject()
  const writer = await newWriter()
  const { body: webhook } = await writer.post('/webhooks', { url: `${peer.url}/erased`, events: ['subscriber.created'] })
  const { body: mine } = await project.post('/lists', { name: 'Mine' })
  const { body: theirs } = await writer.post('/lists', { name: 'Theirs' })
  await project.post(`/lists/${mine.id}/subscribers`, { email: 'bo@example.org', name: 'Bo', verified: true })
  await writer.post(`/lists/${theirs.id}/subscribers`, { email: 'bo@example.org', name: 'Bo', verified: true })
  await consume(filer)
  await claimAs(app, writer.claim_token, project.email)
  const bodyNow = async () => {
    const { body } = await project.get(`/webhooks/${webhook.id}/deliveries?event_type=subscriber.created`)
    return (await project.get(`/webhooks/${webhook.id}/deliveries/${body[0].id}`)).body.request.body as string
  }
  assert.match(await bodyNow(), /bo@example\.org/)
  const [contact] = (await project.get('/contacts?search=bo@')).body
  assert.equal((await project.delete(`/contacts/${contact.id}`)).status, 204)
  await until('the erasure to end', async () => {
    await eraseTraces.run(app.services, {})
    return (await database.first`select 1 from erasures where project_id = ${project.id}`) === null
  })
  assert.doesNotMatch(await bodyNow(), /bo@example\.org|"Bo"/)
})
